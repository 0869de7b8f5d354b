// Argo, which is built from a copy of this module: its own requirements count.
module yt8m/argo

go 1.26

require github.com/argoproj/argo-workflows/v4 v4.0.5
