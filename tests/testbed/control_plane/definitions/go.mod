// Custom resource definitions of others: nothing of these modules is built, so their own
// requirements do not count.
module yt8m/control_plane/definitions

go 1.26

require (
	github.com/kserve/kserve v0.17.0
	github.com/kubeflow/training-operator v1.9.3
)
