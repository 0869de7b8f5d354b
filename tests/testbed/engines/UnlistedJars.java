import java.io.File;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.ArrayList;
import java.util.List;

/**
 * The system class loader of Beam's job server, for a cluster that has Beam's jars itself.
 *
 * <p>Beam sends all jars that it finds in its class loaders with every job: 300 MB, which take
 * longer than a small job. Those of the directories in the property {@code jars} it does not find.
 */
public class UnlistedJars extends URLClassLoader {
  public UnlistedJars(ClassLoader parent) throws MalformedURLException {
    super(jars(), parent);
  }

  @Override
  public URL[] getURLs() {
    return new URL[0];
  }

  private static URL[] jars() throws MalformedURLException {
    List<URL> jars = new ArrayList<>();
    for (String directory : System.getProperty("jars").split(File.pathSeparator)) {
      for (File file : new File(directory).listFiles()) {
        jars.add(file.toURI().toURL());
      }
    }
    return jars.toArray(new URL[0]);
  }
}
