"""Arguments of the commands about the registry of pushed models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from yt8m.cli.arguments.options import Arguments, Written, positional
from yt8m.cli.arguments.paths import missing
from yt8m.cli.arguments.shared import (
    Count,
    InputFile,
    Model,
    Name,
    OutputDirectory,
    OutputFile,
    Pattern,
    Records,
    RegistryArguments,
    ScoringArguments,
    VersionNumber,
)
from yt8m.schemas.features import Level
from yt8m.schemas.limits import NonNegativeInt

Key = InputFile


@dataclass(frozen=True, kw_only=True)
class ModelsListArguments(RegistryArguments):
    """List the pushed versions, newest first.

    A line says when it was pushed, from which data, GAP and soundness. A version is sound when its
    record can be read and all its files have the sizes that they were pushed with; `yt8m models
    verify` compares the contents too. Another maker's model, which has no record, is foreign:
    nothing here changes or removes it. Imported models that were never scored are baselines that
    are not served. An upload into an object store that is under way, or was broken off, is
    unfinished. What the last push could not clean up is repeated as a warning.

    examples:
      yt8m models list --push /srv/models
      yt8m models list --push /srv/models --json
    """


@dataclass(frozen=True, kw_only=True)
class ModelsShowArguments(RegistryArguments):
    """Show one version: metrics, decision, data, lineage.

    Every file's content is verified.

    examples:
      yt8m models show 3 --push /srv/models
      yt8m models show 3 --push /srv/models --json
    """

    version: VersionNumber  # the number of the version


@dataclass(frozen=True, kw_only=True)
class ModelsRollbackArguments(RegistryArguments):
    """Make an older version the newest.

    Its files are pushed again under a new number. Model servers load the highest number, so numbers
    only grow and nothing is removed. The next run takes the new version for its baseline.

    With --key the old version must have a valid signature; with --signing-key the new one is
    signed. A rollback to the newest version signs it where it is not.

    examples:
      yt8m models rollback 3 --push /srv/models
      yt8m models rollback 3 --push /srv/models --key models.pub --signing-key models.key
    """

    version: VersionNumber  # the version to go back to
    key: Key = ""  # public key, or certificates of issuers, that the old version must be signed by
    signing_key: Key = ""  # private key that signs; its password is in YT8M_SIGNING_PASSWORD


@dataclass(frozen=True, kw_only=True)
class ModelsChampionArguments(RegistryArguments):
    """Show the best version so far, or choose it.

    Candidates are compared with the newest version and with the champion, on the same videos. A
    version becomes the champion when it is pushed and its GAP is higher beyond doubt. With --set
    any sound version does, and the champion until then retires: use it where the champion is lost,
    or is no longer what you want to measure by.

    examples:
      yt8m models champion --push /srv/models
      yt8m models champion --set 3 --push /srv/models
    """

    set: Annotated[NonNegativeInt, Written("N")] | None = (
        None  # the version that is the champion from now on
    )


@dataclass(frozen=True, kw_only=True)
class ModelsShadowArguments(ScoringArguments, RegistryArguments):
    """Score a candidate beside the model in service.

    Both models score the same records, logged or fresh. Of all rows it is said how often the models
    agree and which rows and classes they differ most in; of rows with labels, if there are any,
    also the metrics of both and their paired difference, with intervals. Nothing is changed. At
    segment level rated segments count.

    examples:
      yt8m models shadow run/export --push /srv/models --data 'fresh/*.tfrecord'
      yt8m models shadow /srv/models/4 --push /srv/models --data 'logged/*.tfrecord' --json
    """

    model: Annotated[str, positional("DIR", missing)]  # the candidate, a SavedModel
    shown: Count = 10  # rows and classes that are shown


@dataclass(frozen=True, kw_only=True)
class ModelsImportArguments(RegistryArguments):
    """Register a SavedModel from elsewhere.

    With --data the model is scored on those records first, and so is the version in service, which
    it replaces: it becomes the newest version, which model servers load, with its metrics and the
    difference on record. A worse one takes --yes. Without --data, nothing says how good it is: it
    becomes a baseline that is not served, which the next run is compared with where no version of
    yt8m's is in service (or where `baseline.version` names it).

    The model needs the signatures `serving_default`, for model servers, and `scores`: serialized
    records `examples` to `scores` [records, classes] and `video_id`. A model that yt8m exported
    says itself what records it takes; for another one the records of --data do, or --level.

    What google/youtube-8m's starter code left is taken in as well: its exported SavedModels
    (`video_id`, `class_indexes`, `predictions`), and checkpoints of LogisticModel, MoeModel,
    FrameLevelLogisticModel, DbofModel and LstmModel, as a path (train/model.ckpt-1000), the
    directory that holds them, or a .tgz, with `model_flags.json` where they are. Of a DbofModel
    --flag says what its checkpoint does not: dbof_activation, and dbof_pooling_method and
    iterations where they are not the starter code's defaults.

    examples:
      yt8m models import /backup/2025/model --push /srv/models --data 'data/validate*.tfrecord'
      yt8m models import /backup/2019/model --push /srv/models --level video
      yt8m models import /backup/2018/train_dir --push /srv/models --data 'data/validate*.tfrecord'
      yt8m models import /backup/2019/dbof --push /srv/models --data 'data/validate*.tfrecord' \\
          --flag dbof_activation=sigmoid
    """

    LOADS_TENSORFLOW: ClassVar[bool] = True

    # the SavedModel's directory, or a checkpoint of the starter code
    model: Annotated[str, positional("DIR")]
    # TFRecord files to score it on before it is served, e.g. 'eval/*.tfrecord'
    data: Pattern | None = None
    # kind of record that it takes, where neither it nor --data says so
    level: Level | None = None
    signing_key: Key = ""  # private key that signs; its password is in YT8M_SIGNING_PASSWORD
    # a flag of the starter code that a checkpoint does not have; may be repeated
    flag: Annotated[tuple[str, ...], Written("NAME=VALUE")] = ()
    yes: bool = False  # replace what is in service though that is better


@dataclass(frozen=True, kw_only=True)
class ModelsVerifyArguments(RegistryArguments):
    """Compare versions with their records.

    Every file is read and its SHA-256 compared; so are the record's own checksum, the model that
    the gate decided about, the configuration that the model carries, and the manifest of its data
    where that still is. Other makers' models have no record and are only named. Ends with 2 where a
    version is not as its record says. With --key each version must also have a valid signature, of
    all its files; another maker's model has none, so it ends with 2 as well.

    examples:
      yt8m models verify --push /srv/models
      yt8m models verify 3 --push /srv/models --json
      yt8m models verify --push /srv/models --key models.pub
    """

    version: VersionNumber | None = None  # this version alone
    key: Key = ""  # PEM file of a public key, or of certificates of trusted issuers


@dataclass(frozen=True, kw_only=True)
class ModelsExtendArguments(Arguments):
    """Add labelled videos to the index of an exported model.

    Nothing is trained. The model was trained with trainer.retrieval. Classes that training had no
    video of are predicted from then on, as far as the neighbours' weight goes; the network itself
    stays as it is. The result is an export, to be judged with `yt8m evaluate --baseline`.

    examples:
      yt8m models extend --model push --data 'new/videos*.tfrecord' --out extended
    """

    LOADS_TENSORFLOW: ClassVar[bool] = True

    model: Model  # an export or a push directory
    data: Records  # the records: a directory, or files, e.g. 'new/videos*'
    out: OutputDirectory  # the SavedModel to write


@dataclass(frozen=True, kw_only=True)
class ModelsManifestArguments(RegistryArguments):
    """Write the manifest that makes KServe serve one version.

    For `kubectl apply -f`. An InferenceService of TensorFlow Serving that fetches this version
    alone, joins requests as the version says, and asks for half as much memory again as the infra
    check measured. A version in a local registry is named where the cluster finds it. KServe 0.16
    or newer.

    examples:
      yt8m models manifest 3 --push s3://bucket/models --service-account models-reader
      yt8m models manifest 3 --push /srv/models --storage-uri pvc://models/3 --out service.yaml
    """

    version: VersionNumber  # the version to serve
    name: Name = "yt8m"  # name of the service
    namespace: Name = ""  # namespace of the service
    storage_uri: Annotated[str, Written("URI")] = ""  # where the cluster finds the version
    service_account: Name = ""  # the account that may read it there
    serving_version: Annotated[str, Written("TAG")] = ""  # tag of TensorFlow Serving's image
    # replicas that stay without requests; 0 scales to none
    min_replicas: Annotated[NonNegativeInt, Written("N")] = 1
    out: OutputFile = ""  # the file to write, instead of printing it


@dataclass(frozen=True, kw_only=True)
class ModelsPruneArguments(RegistryArguments):
    """Remove damaged versions, with --yes.

    Without it, say what would go; nothing else ever removes one. A version is damaged when it has a
    record of yt8m's and is not what that says. Other makers' models have none and are never
    removed. A damaged version that could be restored from a backup is better restored: `yt8m models
    verify` says which of its files are wrong. What is removed lies in .pruned/ of the push
    directory for a week, before a push or another prune deletes it.

    examples:
      yt8m models prune --push /srv/models
      yt8m models prune --push /srv/models --yes
    """

    yes: bool = False  # remove them, do not only say which
