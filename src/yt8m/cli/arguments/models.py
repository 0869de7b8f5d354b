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
    check_model_target,
)
from yt8m.schemas.features import Level
from yt8m.schemas.limits import NonNegativeInt

Key = InputFile


@dataclass(frozen=True, kw_only=True)
class ModelsListArguments(RegistryArguments):
    """List the pushed versions, newest first.

    A line shows the time of the push, the data, GAP, and the state. A sound version has a readable
    record, and all its files have the recorded sizes; `yt8m models verify` also compares the
    contents. A foreign version is another tool's model without a record: yt8m never changes or
    removes it. An imported model that was never scored is a baseline that is not served. An
    unfinished version is an upload to an object store that is running or was interrupted. Warnings
    repeat what the last push could not clean up.

    examples:
      yt8m models list --push /srv/models
      yt8m models list --push /srv/models --json
    """


@dataclass(frozen=True, kw_only=True)
class ModelsShowArguments(RegistryArguments):
    """Show one version: metrics, decision, data, lineage.

    The contents of every file are verified.

    examples:
      yt8m models show 3 --push /srv/models
      yt8m models show 3 --push /srv/models --json
    """

    version: VersionNumber  # Number of the version to show


@dataclass(frozen=True, kw_only=True)
class ModelsRollbackArguments(RegistryArguments):
    """Make an older version the newest.

    The version's files are pushed again under a new number, because model servers load the highest
    number. Nothing is removed. The next run takes the new version as its baseline.

    With --key the old version must have a valid signature; with --signing-key the new one is
    signed. A rollback to the newest version signs it if it has no signature.

    examples:
      yt8m models rollback 3 --push /srv/models
      yt8m models rollback 3 --push /srv/models --key models.pub --signing-key models.key
    """

    version: VersionNumber  # Number of the version to roll back to
    # PEM file of a public key, or of trusted issuers' certificates, that verifies the old version.
    key: Key = ""
    # PEM file of the private key that signs; YT8M_SIGNING_PASSWORD holds its password.
    signing_key: Key = ""


@dataclass(frozen=True, kw_only=True)
class ModelsChampionArguments(RegistryArguments):
    """Show the champion, the best version so far, or choose it.

    Candidates are compared with the newest version and with the champion, on the same videos. A
    pushed version becomes the champion when its GAP is significantly higher. --set makes any sound
    version the champion, e.g. if the champion is lost or no longer the right reference.

    examples:
      yt8m models champion --push /srv/models
      yt8m models champion --set 3 --push /srv/models
    """

    # Number of the version to make the champion.
    set: Annotated[NonNegativeInt, Written("N")] | None = None


@dataclass(frozen=True, kw_only=True)
class ModelsShadowArguments(ScoringArguments, RegistryArguments):
    """Score a candidate in parallel to the model in service.

    Both models score the same records, logged or fresh. The command reports how often the models
    agree, and the rows and classes in which they differ most. For labelled rows it also reports the
    metrics of both and their paired difference, with intervals. Nothing is changed. At segment
    level it scores the rated segments.

    examples:
      yt8m models shadow run/export --push /srv/models --data 'fresh/*.tfrecord'
      yt8m models shadow /srv/models/4 --push /srv/models --data 'logged/*.tfrecord' --json
    """

    model: Annotated[str, positional("DIR", missing)]  # SavedModel of the candidate
    shown: Count = 10  # Number of rows and classes to show


@dataclass(frozen=True, kw_only=True)
class ModelsImportArguments(RegistryArguments):
    """Register a SavedModel from elsewhere.

    With --data the model and the version in service are scored on those records first. The model
    then becomes the newest version, which model servers load; its record has the metrics and the
    difference. A worse model needs --yes. Without --data the model becomes a baseline that is not
    served. The next run is compared with it if no version of yt8m's is in service, or if
    `baseline.version` names it.

    The model needs two signatures: `serving_default` for model servers, and `scores`, from
    serialized records `examples` to `scores` [records, classes] and `video_id`. A model that yt8m
    exported records its level; for other models --data or --level determines it.

    The exports and checkpoints of google/youtube-8m's starter code can be imported too. Exports are
    SavedModels with `video_id`, `class_indexes` and `predictions`. Checkpoints are of
    LogisticModel, MoeModel, FrameLevelLogisticModel, DbofModel or LstmModel: a path
    (train/model.ckpt-1000), its directory, or a .tgz, with `model_flags.json` if there is one. For
    a DbofModel, --flag supplies what the checkpoint lacks: dbof_activation, and dbof_pooling_method
    and iterations unless they are the starter code's defaults.

    examples:
      yt8m models import /backup/2025/model --push /srv/models --data 'data/validate*.tfrecord'
      yt8m models import /backup/2019/model --push /srv/models --level video
      yt8m models import /backup/2018/train_dir --push /srv/models --data 'data/validate*.tfrecord'
      yt8m models import /backup/2019/dbof --push /srv/models --data 'data/validate*.tfrecord' \\
          --flag dbof_activation=sigmoid
    """

    LOADS_TENSORFLOW: ClassVar[bool] = True

    # Directory of the SavedModel, or a checkpoint of the starter code.
    model: Annotated[str, positional("DIR")]
    # Pattern of TFRecord files to score the model on before it is served, e.g. 'eval/*.tfrecord'.
    data: Pattern | None = None
    # Kind of record that the model takes, if neither it nor --data tells.
    level: Level | None = None
    # PEM file of the private key that signs; YT8M_SIGNING_PASSWORD holds its password.
    signing_key: Key = ""
    # Flag of the starter code that the checkpoint does not contain; may be repeated.
    flag: Annotated[tuple[str, ...], Written("NAME=VALUE")] = ()
    yes: bool = False  # Replace a better version in service


@dataclass(frozen=True, kw_only=True)
class ModelsVerifyArguments(RegistryArguments):
    """Compare versions with their records.

    The command reads every file and compares its SHA-256. It also checks the record's own checksum,
    the model that the gate decided on, the model's configuration, and the manifest of its data if
    it still exists. Other tools' models have no record and are only listed. With --key each version
    must also have a valid signature of all its files, including other tools' models.

    exit codes: 0 all versions match, 2 a version does not match or lacks a valid signature.

    examples:
      yt8m models verify --push /srv/models
      yt8m models verify 3 --push /srv/models --json
      yt8m models verify --push /srv/models --key models.pub
    """

    version: VersionNumber | None = None  # Number of the version to verify (default: all)
    # PEM file of a public key, or of trusted issuers' certificates, that verifies the versions.
    key: Key = ""


@dataclass(frozen=True, kw_only=True)
class ModelsExtendArguments(Arguments):
    """Add labelled videos to the index of an exported model.

    Nothing is trained. The model must have a nearest-neighbour head (trainer.retrieval). Its
    predictions then include classes that the training data lacked, within the weight of the
    neighbours; the network stays the same. The result is an export: evaluate it with `yt8m evaluate
    --baseline`.

    examples:
      yt8m models extend --model push --data 'new/videos*.tfrecord' --out extended
    """

    LOADS_TENSORFLOW: ClassVar[bool] = True

    model: Model  # Export or push directory
    data: Records  # Directory of the records, or pattern of files, e.g. 'new/videos*'
    out: OutputDirectory  # Directory of the new SavedModel

    def check(self) -> None:
        super().check()
        check_model_target(self.out, [self.model])


@dataclass(frozen=True, kw_only=True)
class ModelsManifestArguments(RegistryArguments):
    """Write the manifest that makes KServe serve one version.

    The output is for `kubectl apply -f`: an InferenceService of TensorFlow Serving that fetches
    only this version and batches requests as the version says. It requests 1.5 times the memory
    that the infra check measured. For a version in a local registry, --storage-uri tells where the
    cluster finds it. KServe 0.16 or newer.

    examples:
      yt8m models manifest 3 --push s3://bucket/models --service-account models-reader
      yt8m models manifest 3 --push /srv/models --storage-uri pvc://models/3 --out service.yaml
    """

    version: VersionNumber  # Number of the version to serve
    name: Name = "yt8m"  # Name of the service
    namespace: Name = ""  # Namespace of the service
    storage_uri: Annotated[str, Written("URI")] = ""  # URI of the version as the cluster reads it
    service_account: Name = ""  # Service account that may read the version
    serving_version: Annotated[str, Written("TAG")] = ""  # Tag of TensorFlow Serving's image
    # Number of replicas without requests; 0: scale to none.
    min_replicas: Annotated[NonNegativeInt, Written("N")] = 1
    out: OutputFile = ""  # File to write (default: print)


@dataclass(frozen=True, kw_only=True)
class ModelsPruneArguments(RegistryArguments):
    """Remove damaged versions, with --yes.

    Without --yes the command lists what it would remove; no other command removes a damaged
    version. A version is damaged when its files do not match its record. Other tools' models have
    no record and are never removed. Restore a version from a backup if you can: `yt8m models
    verify` names the wrong files. Removed versions stay in .pruned/ of the push directory for a
    week; after that a push or another prune deletes them.

    examples:
      yt8m models prune --push /srv/models
      yt8m models prune --push /srv/models --yes
    """

    yes: bool = False  # Remove the damaged versions instead of listing them
