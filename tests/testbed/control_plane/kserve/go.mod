// KServe's custom resource definitions: nothing of it is built, so its own requirements do not count.
module yt8m/control_plane/kserve

go 1.26

require github.com/kserve/kserve v0.17.0
