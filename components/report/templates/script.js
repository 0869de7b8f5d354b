// Sorts and searches long tables, which are whole without it. The page's policy names the hash of this
// text, so that a browser runs no other.
for (const table of document.querySelectorAll('table.sortable')) {
  const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
  const text = (row, i) => row.cells[i].textContent.trim();
  const number = t => parseFloat(t.replace('\u2212', '-').replace(/[,+]/g, ''));
  heads.forEach((head, i) => {
    const button = document.createElement('button');
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.onclick = () => {
      const up = head.getAttribute('aria-sort') === 'descending';
      heads.forEach(h => h.removeAttribute('aria-sort'));
      head.setAttribute('aria-sort', up ? 'ascending' : 'descending');
      const numeric = head.classList.contains('number');
      const order = (a, b) => {
        if (!numeric) return text(b, i).localeCompare(text(a, i));
        const [x, y] = [number(text(a, i)), number(text(b, i))];
        if (isNaN(x) || isNaN(y)) return (isNaN(x) - isNaN(y)) * (up ? -1 : 1);
        return y - x;
      };
      body.append(...[...body.rows].sort((a, b) => up ? order(b, a) : order(a, b)));
    };
  });
  const search = document.createElement('input');
  search.type = 'search';
  search.placeholder = 'search ' + body.rows.length + ' rows';
  search.setAttribute('aria-label', 'search this table');
  search.oninput = () => {
    const wanted = search.value.toLowerCase();
    for (const row of body.rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
  };
  table.before(search);
}
