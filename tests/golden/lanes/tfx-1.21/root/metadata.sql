BEGIN TRANSACTION;
CREATE TABLE `Artifact` (    `id` INTEGER PRIMARY KEY AUTOINCREMENT,    `type_id` INT NOT NULL,    `uri` TEXT,    `state` INT,    `name` VARCHAR(255),    `external_id` VARCHAR(255) UNIQUE,    `create_time_since_epoch` INT NOT NULL DEFAULT 0,    `last_update_time_since_epoch` INT NOT NULL DEFAULT 0,    UNIQUE(`type_id`, `name`)  );
INSERT INTO "Artifact" VALUES(1,15,'ROOT/root/artifacts/SchemaGen/schema/1',2,NULL,NULL,1795605760798,1795605760798);
INSERT INTO "Artifact" VALUES(2,17,'ROOT/root/artifacts/ExampleGen/sample/2',2,NULL,NULL,1795605761404,1795605761404);
INSERT INTO "Artifact" VALUES(3,17,'ROOT/root/artifacts/ExampleGen/examples/2',2,NULL,NULL,1795605761404,1795605761404);
INSERT INTO "Artifact" VALUES(4,19,'ROOT/root/artifacts/Baseline/model/3',2,NULL,NULL,1795605761470,1795605761470);
INSERT INTO "Artifact" VALUES(5,19,'ROOT/root/artifacts/Baseline/champion/3',2,NULL,NULL,1795605761470,1795605761470);
INSERT INTO "Artifact" VALUES(6,21,'ROOT/root/artifacts/StatisticsGen/statistics/4',2,NULL,NULL,1795605761591,1795605761591);
INSERT INTO "Artifact" VALUES(7,23,'ROOT/root/artifacts/ExampleValidator/anomalies/5',2,NULL,NULL,1795605761750,1795605761750);
INSERT INTO "Artifact" VALUES(8,23,'ROOT/root/artifacts/ValidationGate/validation/6',2,NULL,NULL,1795605762128,1795605762128);
INSERT INTO "Artifact" VALUES(9,26,'ROOT/root/artifacts/Transform/transform_graph/7',2,NULL,NULL,1795605763492,1795605763492);
INSERT INTO "Artifact" VALUES(10,19,'ROOT/root/artifacts/Trainer/model/8',2,NULL,NULL,1795605777645,1795605777645);
INSERT INTO "Artifact" VALUES(11,28,'ROOT/root/artifacts/Trainer/model_run/8',2,NULL,NULL,1795605777645,1795605777645);
INSERT INTO "Artifact" VALUES(12,30,'ROOT/root/artifacts/Evaluator/blessing/9',2,NULL,NULL,1795605780198,1795605780198);
INSERT INTO "Artifact" VALUES(13,31,'ROOT/root/artifacts/Evaluator/evaluation/9',2,NULL,NULL,1795605780199,1795605780199);
INSERT INTO "Artifact" VALUES(14,33,'ROOT/root/artifacts/Pusher/pushed_model/10',2,NULL,NULL,1795605780733,1795605780733);
INSERT INTO "Artifact" VALUES(15,35,'ROOT/root/artifacts/Report/report/11',2,NULL,NULL,1795605781590,1795605781590);
CREATE TABLE `ArtifactProperty` (    `artifact_id` INT NOT NULL,    `name` VARCHAR(255) NOT NULL,    `is_custom_property` TINYINT(1) NOT NULL,    `int_value` INT,    `double_value` DOUBLE,    `string_value` TEXT,    `byte_value` BLOB,    `proto_value` BLOB,    `bool_value` BOOLEAN,  PRIMARY KEY (`artifact_id`, `name`, `is_custom_property`));
INSERT INTO "ArtifactProperty" VALUES(1,'is_external',1,0,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "ArtifactProperty" VALUES(1,'tfx_version',1,NULL,NULL,'1.21.0',NULL,NULL,NULL);
INSERT INTO "ArtifactProperty" VALUES(1,'features',1,4,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "ArtifactProperty" VALUES(2,'span',0,0,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "ArtifactProperty" VALUES(2,'split_names',0,NULL,NULL,'["eval", "train"]',NULL,NULL,NULL);
INSERT INTO "ArtifactProperty" VALUES(2,'payload_format',1,NULL,NULL,'FORMAT_TF_EXAMPLE',NULL,NULL,NULL);
INSERT INTO "ArtifactProperty" VALUES(2,'input_fingerprint',1,NULL,NULL,'17b1ef781fca31c8',NULL,NULL,NULL);
INSERT INTO "ArtifactProperty" VALUES(2,'file_format',1,NULL,NULL,'tfrecords_gzip',NULL,NULL,NULL);
INSERT INTO "ArtifactProperty" VALUES(2,'is_external',1,0,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "ArtifactProperty" VALUES(2,'tfx_version',1,NULL,NULL,'1.21.0',NULL,NULL,NULL);
INSERT INTO "ArtifactProperty" VALUES(3,'span',0,0,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "ArtifactProperty" VALUES(3,'split_names',0,NULL,NULL,'["eval", "train"]',NULL,NULL,NULL);
INSERT INTO "ArtifactProperty" VALUES(3,'digest',1,NULL,NULL,'7f384335f1672f24',NULL,NULL,NULL);
INSERT INTO "ArtifactProperty" VALUES(3,'spans',1,NULL,NULL,'',NULL,NULL,NULL);
INSERT INTO "ArtifactProperty" VALUES(3,'file_format',1,NULL,NULL,'tfrecords_gzip',NULL,NULL,NULL);
INSERT INTO "ArtifactProperty" VALUES(3,'payload_format',1,NULL,NULL,'FORMAT_TF_EXAMPLE',NULL,NULL,NULL);
INSERT INTO "ArtifactProperty" VALUES(3,'is_external',1,0,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "ArtifactProperty" VALUES(3,'train_records',1,40,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "ArtifactProperty" VALUES(3,'tfx_version',1,NULL,NULL,'1.21.0',NULL,NULL,NULL);
INSERT INTO "ArtifactProperty" VALUES(3,'input_fingerprint',1,NULL,NULL,'17b1ef781fca31c8',NULL,NULL,NULL);
INSERT INTO "ArtifactProperty" VALUES(3,'level',1,NULL,NULL,'video',NULL,NULL,NULL);
INSERT INTO "ArtifactProperty" VALUES(3,'shards',1,4,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "ArtifactProperty" VALUES(3,'filtered',1,0,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "ArtifactProperty" VALUES(3,'quarantined',1,0,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "ArtifactProperty" VALUES(3,'eval_records',1,20,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "ArtifactProperty" VALUES(3,'verified_before',1,0,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "ArtifactProperty" VALUES(3,'records',1,60,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "ArtifactProperty" VALUES(3,'verify',1,NULL,NULL,'full',NULL,NULL,NULL);
INSERT INTO "ArtifactProperty" VALUES(4,'version',1,0,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "ArtifactProperty" VALUES(4,'tfx_version',1,NULL,NULL,'1.21.0',NULL,NULL,NULL);
INSERT INTO "ArtifactProperty" VALUES(4,'is_external',1,0,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "ArtifactProperty" VALUES(5,'tfx_version',1,NULL,NULL,'1.21.0',NULL,NULL,NULL);
INSERT INTO "ArtifactProperty" VALUES(5,'is_external',1,0,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "ArtifactProperty" VALUES(6,'split_names',0,NULL,NULL,'["eval", "train"]',NULL,NULL,NULL);
INSERT INTO "ArtifactProperty" VALUES(6,'span',0,0,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "ArtifactProperty" VALUES(6,'is_external',1,0,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "ArtifactProperty" VALUES(6,'tfx_version',1,NULL,NULL,'1.21.0',NULL,NULL,NULL);
INSERT INTO "ArtifactProperty" VALUES(7,'span',0,0,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "ArtifactProperty" VALUES(7,'split_names',0,NULL,NULL,'["eval", "train"]',NULL,NULL,NULL);
INSERT INTO "ArtifactProperty" VALUES(7,'blessed',1,NULL,NULL,'mlmd-struct::ChIKBXRyYWluEgkRAAAAAAAA8D8KEQoEZXZhbBIJEQAAAAAAAPA/',NULL,NULL,NULL);
INSERT INTO "ArtifactProperty" VALUES(7,'tfx_version',1,NULL,NULL,'1.21.0',NULL,NULL,NULL);
INSERT INTO "ArtifactProperty" VALUES(7,'is_external',1,0,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "ArtifactProperty" VALUES(8,'split_names',0,NULL,NULL,'[]',NULL,NULL,NULL);
INSERT INTO "ArtifactProperty" VALUES(8,'is_external',1,0,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "ArtifactProperty" VALUES(8,'tfx_version',1,NULL,NULL,'1.21.0',NULL,NULL,NULL);
INSERT INTO "ArtifactProperty" VALUES(8,'skew',1,NULL,0.01534,NULL,NULL,NULL,NULL);
INSERT INTO "ArtifactProperty" VALUES(8,'anomalies',1,0,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "ArtifactProperty" VALUES(9,'tfx_version',1,NULL,NULL,'1.21.0',NULL,NULL,NULL);
INSERT INTO "ArtifactProperty" VALUES(9,'is_external',1,0,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "ArtifactProperty" VALUES(10,'is_external',1,0,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "ArtifactProperty" VALUES(10,'tfx_version',1,NULL,NULL,'1.21.0',NULL,NULL,NULL);
INSERT INTO "ArtifactProperty" VALUES(11,'tfx_version',1,NULL,NULL,'1.21.0',NULL,NULL,NULL);
INSERT INTO "ArtifactProperty" VALUES(11,'is_external',1,0,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "ArtifactProperty" VALUES(12,'model_digest',1,NULL,NULL,'a7b4502584c34023cdeb88aead8e00bc5c8ac036a78f4794acd7f3dd93bb35ce',NULL,NULL,NULL);
INSERT INTO "ArtifactProperty" VALUES(12,'reason',1,NULL,NULL,'GAP 0.6535 clears every threshold (no baseline yet: only the limits on values apply)',NULL,NULL,NULL);
INSERT INTO "ArtifactProperty" VALUES(12,'blessed',1,1,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "ArtifactProperty" VALUES(12,'is_external',1,0,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "ArtifactProperty" VALUES(12,'current_model_id',1,10,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "ArtifactProperty" VALUES(12,'gap',1,NULL,0.653478,NULL,NULL,NULL,NULL);
INSERT INTO "ArtifactProperty" VALUES(12,'current_model',1,NULL,NULL,'ROOT/root/artifacts/Trainer/model/8',NULL,NULL,NULL);
INSERT INTO "ArtifactProperty" VALUES(12,'tfx_version',1,NULL,NULL,'1.21.0',NULL,NULL,NULL);
INSERT INTO "ArtifactProperty" VALUES(13,'tfx_version',1,NULL,NULL,'1.21.0',NULL,NULL,NULL);
INSERT INTO "ArtifactProperty" VALUES(13,'is_external',1,0,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "ArtifactProperty" VALUES(14,'is_external',1,0,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "ArtifactProperty" VALUES(14,'pushed_destination',1,NULL,NULL,'ROOT/push/1',NULL,NULL,NULL);
INSERT INTO "ArtifactProperty" VALUES(14,'tfx_version',1,NULL,NULL,'1.21.0',NULL,NULL,NULL);
INSERT INTO "ArtifactProperty" VALUES(14,'verdict',1,NULL,NULL,'pushed',NULL,NULL,NULL);
INSERT INTO "ArtifactProperty" VALUES(14,'pushed',1,1,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "ArtifactProperty" VALUES(14,'pushed_version',1,NULL,NULL,'1',NULL,NULL,NULL);
INSERT INTO "ArtifactProperty" VALUES(15,'tfx_version',1,NULL,NULL,'1.21.0',NULL,NULL,NULL);
INSERT INTO "ArtifactProperty" VALUES(15,'verdict',1,NULL,NULL,'pushed',NULL,NULL,NULL);
INSERT INTO "ArtifactProperty" VALUES(15,'is_external',1,0,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE `Association` (    `id` INTEGER PRIMARY KEY AUTOINCREMENT,    `context_id` INT NOT NULL,    `execution_id` INT NOT NULL,    UNIQUE(`context_id`, `execution_id`)  );
INSERT INTO "Association" VALUES(1,1,1);
INSERT INTO "Association" VALUES(2,2,1);
INSERT INTO "Association" VALUES(3,3,1);
INSERT INTO "Association" VALUES(4,4,1);
INSERT INTO "Association" VALUES(5,1,2);
INSERT INTO "Association" VALUES(6,2,2);
INSERT INTO "Association" VALUES(7,5,2);
INSERT INTO "Association" VALUES(8,6,2);
INSERT INTO "Association" VALUES(9,1,3);
INSERT INTO "Association" VALUES(10,2,3);
INSERT INTO "Association" VALUES(11,7,3);
INSERT INTO "Association" VALUES(12,8,3);
INSERT INTO "Association" VALUES(13,1,4);
INSERT INTO "Association" VALUES(14,2,4);
INSERT INTO "Association" VALUES(15,9,4);
INSERT INTO "Association" VALUES(16,10,4);
INSERT INTO "Association" VALUES(17,1,5);
INSERT INTO "Association" VALUES(18,2,5);
INSERT INTO "Association" VALUES(19,11,5);
INSERT INTO "Association" VALUES(20,12,5);
INSERT INTO "Association" VALUES(21,1,6);
INSERT INTO "Association" VALUES(22,2,6);
INSERT INTO "Association" VALUES(23,13,6);
INSERT INTO "Association" VALUES(24,14,6);
INSERT INTO "Association" VALUES(25,1,7);
INSERT INTO "Association" VALUES(26,2,7);
INSERT INTO "Association" VALUES(27,15,7);
INSERT INTO "Association" VALUES(28,16,7);
INSERT INTO "Association" VALUES(29,1,8);
INSERT INTO "Association" VALUES(30,2,8);
INSERT INTO "Association" VALUES(31,17,8);
INSERT INTO "Association" VALUES(32,18,8);
INSERT INTO "Association" VALUES(33,1,9);
INSERT INTO "Association" VALUES(34,2,9);
INSERT INTO "Association" VALUES(35,19,9);
INSERT INTO "Association" VALUES(36,20,9);
INSERT INTO "Association" VALUES(37,1,10);
INSERT INTO "Association" VALUES(38,2,10);
INSERT INTO "Association" VALUES(39,21,10);
INSERT INTO "Association" VALUES(40,22,10);
INSERT INTO "Association" VALUES(41,1,11);
INSERT INTO "Association" VALUES(42,2,11);
INSERT INTO "Association" VALUES(43,23,11);
INSERT INTO "Association" VALUES(44,24,11);
CREATE TABLE `Attribution` (    `id` INTEGER PRIMARY KEY AUTOINCREMENT,    `context_id` INT NOT NULL,    `artifact_id` INT NOT NULL,    UNIQUE(`context_id`, `artifact_id`)  );
INSERT INTO "Attribution" VALUES(1,1,1);
INSERT INTO "Attribution" VALUES(2,2,1);
INSERT INTO "Attribution" VALUES(3,3,1);
INSERT INTO "Attribution" VALUES(4,4,1);
INSERT INTO "Attribution" VALUES(5,1,3);
INSERT INTO "Attribution" VALUES(6,1,2);
INSERT INTO "Attribution" VALUES(7,2,3);
INSERT INTO "Attribution" VALUES(8,2,2);
INSERT INTO "Attribution" VALUES(9,5,3);
INSERT INTO "Attribution" VALUES(10,5,2);
INSERT INTO "Attribution" VALUES(11,6,3);
INSERT INTO "Attribution" VALUES(12,6,2);
INSERT INTO "Attribution" VALUES(13,1,4);
INSERT INTO "Attribution" VALUES(14,1,5);
INSERT INTO "Attribution" VALUES(15,2,4);
INSERT INTO "Attribution" VALUES(16,2,5);
INSERT INTO "Attribution" VALUES(17,7,4);
INSERT INTO "Attribution" VALUES(18,7,5);
INSERT INTO "Attribution" VALUES(19,8,4);
INSERT INTO "Attribution" VALUES(20,8,5);
INSERT INTO "Attribution" VALUES(21,9,2);
INSERT INTO "Attribution" VALUES(22,9,1);
INSERT INTO "Attribution" VALUES(23,1,6);
INSERT INTO "Attribution" VALUES(24,2,6);
INSERT INTO "Attribution" VALUES(25,9,6);
INSERT INTO "Attribution" VALUES(26,10,6);
INSERT INTO "Attribution" VALUES(27,11,1);
INSERT INTO "Attribution" VALUES(28,11,6);
INSERT INTO "Attribution" VALUES(29,1,7);
INSERT INTO "Attribution" VALUES(30,2,7);
INSERT INTO "Attribution" VALUES(31,11,7);
INSERT INTO "Attribution" VALUES(32,12,7);
INSERT INTO "Attribution" VALUES(33,13,6);
INSERT INTO "Attribution" VALUES(34,13,7);
INSERT INTO "Attribution" VALUES(35,13,1);
INSERT INTO "Attribution" VALUES(36,13,4);
INSERT INTO "Attribution" VALUES(37,1,8);
INSERT INTO "Attribution" VALUES(38,2,8);
INSERT INTO "Attribution" VALUES(39,13,8);
INSERT INTO "Attribution" VALUES(40,14,8);
INSERT INTO "Attribution" VALUES(41,15,2);
INSERT INTO "Attribution" VALUES(42,15,1);
INSERT INTO "Attribution" VALUES(43,1,9);
INSERT INTO "Attribution" VALUES(44,2,9);
INSERT INTO "Attribution" VALUES(45,15,9);
INSERT INTO "Attribution" VALUES(46,16,9);
INSERT INTO "Attribution" VALUES(47,17,1);
INSERT INTO "Attribution" VALUES(48,17,4);
INSERT INTO "Attribution" VALUES(49,17,9);
INSERT INTO "Attribution" VALUES(50,17,3);
INSERT INTO "Attribution" VALUES(51,1,11);
INSERT INTO "Attribution" VALUES(52,1,10);
INSERT INTO "Attribution" VALUES(53,2,11);
INSERT INTO "Attribution" VALUES(54,2,10);
INSERT INTO "Attribution" VALUES(55,17,11);
INSERT INTO "Attribution" VALUES(56,17,10);
INSERT INTO "Attribution" VALUES(57,18,11);
INSERT INTO "Attribution" VALUES(58,18,10);
INSERT INTO "Attribution" VALUES(59,19,4);
INSERT INTO "Attribution" VALUES(60,19,3);
INSERT INTO "Attribution" VALUES(61,19,5);
INSERT INTO "Attribution" VALUES(62,19,10);
INSERT INTO "Attribution" VALUES(63,1,13);
INSERT INTO "Attribution" VALUES(64,1,12);
INSERT INTO "Attribution" VALUES(65,2,13);
INSERT INTO "Attribution" VALUES(66,2,12);
INSERT INTO "Attribution" VALUES(67,19,13);
INSERT INTO "Attribution" VALUES(68,19,12);
INSERT INTO "Attribution" VALUES(69,20,13);
INSERT INTO "Attribution" VALUES(70,20,12);
INSERT INTO "Attribution" VALUES(71,21,3);
INSERT INTO "Attribution" VALUES(72,21,13);
INSERT INTO "Attribution" VALUES(73,21,12);
INSERT INTO "Attribution" VALUES(74,21,4);
INSERT INTO "Attribution" VALUES(75,21,6);
INSERT INTO "Attribution" VALUES(76,21,10);
INSERT INTO "Attribution" VALUES(77,1,14);
INSERT INTO "Attribution" VALUES(78,2,14);
INSERT INTO "Attribution" VALUES(79,21,14);
INSERT INTO "Attribution" VALUES(80,22,14);
INSERT INTO "Attribution" VALUES(81,23,4);
INSERT INTO "Attribution" VALUES(82,23,12);
INSERT INTO "Attribution" VALUES(83,23,8);
INSERT INTO "Attribution" VALUES(84,23,3);
INSERT INTO "Attribution" VALUES(85,23,14);
INSERT INTO "Attribution" VALUES(86,23,11);
INSERT INTO "Attribution" VALUES(87,23,7);
INSERT INTO "Attribution" VALUES(88,23,13);
INSERT INTO "Attribution" VALUES(89,23,6);
INSERT INTO "Attribution" VALUES(90,23,10);
INSERT INTO "Attribution" VALUES(91,1,15);
INSERT INTO "Attribution" VALUES(92,2,15);
INSERT INTO "Attribution" VALUES(93,23,15);
INSERT INTO "Attribution" VALUES(94,24,15);
CREATE TABLE `Context` (    `id` INTEGER PRIMARY KEY AUTOINCREMENT,    `type_id` INT NOT NULL,    `name` VARCHAR(255) NOT NULL,    `external_id` VARCHAR(255) UNIQUE,    `create_time_since_epoch` INT NOT NULL DEFAULT 0,    `last_update_time_since_epoch` INT NOT NULL DEFAULT 0,    UNIQUE(`type_id`, `name`)  );
INSERT INTO "Context" VALUES(1,10,'smoke',NULL,1795605760717,1795605760717);
INSERT INTO "Context" VALUES(2,11,'20261125-112222-640332',NULL,1795605760720,1795605781799);
INSERT INTO "Context" VALUES(3,12,'smoke.SchemaGen',NULL,1795605760723,1795605760723);
INSERT INTO "Context" VALUES(4,14,'3738c6317c142c23cb9a647b7c1f3ea228c2be4367fb7f73a1831764eac188f8',NULL,1795605760762,1795605760762);
INSERT INTO "Context" VALUES(5,12,'smoke.ExampleGen',NULL,1795605760837,1795605760837);
INSERT INTO "Context" VALUES(6,14,'5e0ad60e17ef5d230a9a44aef1c79e3c6d63e448e59a4e2673a3cc13a23f817f',NULL,1795605760856,1795605760856);
INSERT INTO "Context" VALUES(7,12,'smoke.Baseline',NULL,1795605761414,1795605761414);
INSERT INTO "Context" VALUES(8,14,'bdce7bac8521c0b06f4dd9d6394f300d75fa64d350a78f28fcb69522900b635a',NULL,1795605761423,1795605761423);
INSERT INTO "Context" VALUES(9,12,'smoke.StatisticsGen',NULL,1795605761524,1795605761524);
INSERT INTO "Context" VALUES(10,14,'57774889d50ad1952f5f5dc3c8a180c6672654d6b49e07ed01d76a3c869c1fd0',NULL,1795605761536,1795605761536);
INSERT INTO "Context" VALUES(11,12,'smoke.ExampleValidator',NULL,1795605761636,1795605761636);
INSERT INTO "Context" VALUES(12,14,'d0c12a95ca7402e57d9ec7a4bc74a7a2f72fd8d0a04b3b7d04809a569f23b266',NULL,1795605761663,1795605761663);
INSERT INTO "Context" VALUES(13,12,'smoke.ValidationGate',NULL,1795605761985,1795605761985);
INSERT INTO "Context" VALUES(14,14,'a0c2c022c51bdaf4dc8c61ca721c79102716b551754c8eb8a17953c3c3af344c',NULL,1795605762046,1795605762046);
INSERT INTO "Context" VALUES(15,12,'smoke.Transform',NULL,1795605762319,1795605762319);
INSERT INTO "Context" VALUES(16,14,'5a06f0d1ea7ea5c3cf057db6728aa8cbb4abfc197555b27e23f2cf123ac2f9c2',NULL,1795605762350,1795605762350);
INSERT INTO "Context" VALUES(17,12,'smoke.Trainer',NULL,1795605763750,1795605763750);
INSERT INTO "Context" VALUES(18,14,'80510de92b24733baec8c72361149352e5331d003d6bbf7cc5bedf5f37191483',NULL,1795605763787,1795605763787);
INSERT INTO "Context" VALUES(19,12,'smoke.Evaluator',NULL,1795605777834,1795605777834);
INSERT INTO "Context" VALUES(20,14,'1d9614f38f9f181b2461388633caa9d19f188eb093cc0c52b5dfde5b2ccf8fad',NULL,1795605777873,1795605777873);
INSERT INTO "Context" VALUES(21,12,'smoke.Pusher',NULL,1795605780477,1795605780477);
INSERT INTO "Context" VALUES(22,14,'444cffd5129cf969f19ae75170f05a08f10516eb993275bf38e3ece27bed3ac8',NULL,1795605780543,1795605780543);
INSERT INTO "Context" VALUES(23,12,'smoke.Report',NULL,1795605780946,1795605780946);
INSERT INTO "Context" VALUES(24,14,'a589673574c3338a0d962e1ea913607101c4104d7f2320c539295c9ba3a5e514',NULL,1795605781019,1795605781019);
CREATE TABLE `ContextProperty` (    `context_id` INT NOT NULL,    `name` VARCHAR(255) NOT NULL,    `is_custom_property` TINYINT(1) NOT NULL,    `int_value` INT,    `double_value` DOUBLE,    `string_value` TEXT,    `byte_value` BLOB,    `proto_value` BLOB,    `bool_value` BOOLEAN,  PRIMARY KEY (`context_id`, `name`, `is_custom_property`));
INSERT INTO "ContextProperty" VALUES(2,'yt8m_spans',1,NULL,NULL,'',NULL,NULL,NULL);
INSERT INTO "ContextProperty" VALUES(2,'yt8m_gap',1,NULL,0.653478,NULL,NULL,NULL,NULL);
INSERT INTO "ContextProperty" VALUES(2,'yt8m_reason',1,NULL,NULL,'GAP 0.6535 clears every threshold (no baseline yet: only the limits on values apply)',NULL,NULL,NULL);
INSERT INTO "ContextProperty" VALUES(2,'yt8m_verdict',1,NULL,NULL,'pushed',NULL,NULL,NULL);
INSERT INTO "ContextProperty" VALUES(2,'yt8m_perr',1,NULL,0.616667,NULL,NULL,NULL,NULL);
INSERT INTO "ContextProperty" VALUES(2,'yt8m_map',1,NULL,0.75866,NULL,NULL,NULL,NULL);
INSERT INTO "ContextProperty" VALUES(2,'yt8m_hit_at_1',1,NULL,0.7,NULL,NULL,NULL,NULL);
INSERT INTO "ContextProperty" VALUES(2,'yt8m_baseline_version',1,0,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "ContextProperty" VALUES(2,'yt8m_seconds',1,NULL,38.83947,NULL,NULL,NULL,NULL);
INSERT INTO "ContextProperty" VALUES(2,'yt8m_source_digest',1,NULL,NULL,'17b1ef781fca31c8',NULL,NULL,NULL);
INSERT INTO "ContextProperty" VALUES(2,'yt8m_version',1,1,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "ContextProperty" VALUES(2,'yt8m_started',1,NULL,1.79560574264033198e+09,NULL,NULL,NULL,NULL);
INSERT INTO "ContextProperty" VALUES(2,'yt8m_loss',1,NULL,3.150619,NULL,NULL,NULL,NULL);
CREATE TABLE `Event` (    `id` INTEGER PRIMARY KEY AUTOINCREMENT,    `artifact_id` INT NOT NULL,    `execution_id` INT NOT NULL,    `type` INT NOT NULL,    `milliseconds_since_epoch` INT,    UNIQUE(`artifact_id`, `execution_id`, `type`)  );
INSERT INTO "Event" VALUES(1,1,1,4,1795605760799);
INSERT INTO "Event" VALUES(2,2,2,4,1795605761405);
INSERT INTO "Event" VALUES(3,3,2,4,1795605761405);
INSERT INTO "Event" VALUES(4,4,3,4,1795605761471);
INSERT INTO "Event" VALUES(5,5,3,4,1795605761471);
INSERT INTO "Event" VALUES(6,1,4,3,1795605761531);
INSERT INTO "Event" VALUES(7,2,4,3,1795605761531);
INSERT INTO "Event" VALUES(8,6,4,4,1795605761591);
INSERT INTO "Event" VALUES(9,6,5,3,1795605761644);
INSERT INTO "Event" VALUES(10,1,5,3,1795605761644);
INSERT INTO "Event" VALUES(11,7,5,4,1795605761750);
INSERT INTO "Event" VALUES(12,6,6,3,1795605762024);
INSERT INTO "Event" VALUES(13,1,6,3,1795605762024);
INSERT INTO "Event" VALUES(14,4,6,3,1795605762024);
INSERT INTO "Event" VALUES(15,7,6,3,1795605762024);
INSERT INTO "Event" VALUES(16,8,6,4,1795605762136);
INSERT INTO "Event" VALUES(17,1,7,3,1795605762347);
INSERT INTO "Event" VALUES(18,2,7,3,1795605762347);
INSERT INTO "Event" VALUES(19,9,7,4,1795605763497);
INSERT INTO "Event" VALUES(20,1,8,3,1795605763782);
INSERT INTO "Event" VALUES(21,3,8,3,1795605763783);
INSERT INTO "Event" VALUES(22,4,8,3,1795605763783);
INSERT INTO "Event" VALUES(23,9,8,3,1795605763783);
INSERT INTO "Event" VALUES(24,10,8,4,1795605777646);
INSERT INTO "Event" VALUES(25,11,8,4,1795605777646);
INSERT INTO "Event" VALUES(26,4,9,3,1795605777859);
INSERT INTO "Event" VALUES(27,10,9,3,1795605777860);
INSERT INTO "Event" VALUES(28,3,9,3,1795605777860);
INSERT INTO "Event" VALUES(29,5,9,3,1795605777860);
INSERT INTO "Event" VALUES(30,12,9,4,1795605780199);
INSERT INTO "Event" VALUES(31,13,9,4,1795605780199);
INSERT INTO "Event" VALUES(32,6,10,3,1795605780530);
INSERT INTO "Event" VALUES(33,10,10,3,1795605780530);
INSERT INTO "Event" VALUES(34,3,10,3,1795605780530);
INSERT INTO "Event" VALUES(35,4,10,3,1795605780530);
INSERT INTO "Event" VALUES(36,13,10,3,1795605780530);
INSERT INTO "Event" VALUES(37,12,10,3,1795605780530);
INSERT INTO "Event" VALUES(38,14,10,4,1795605780734);
INSERT INTO "Event" VALUES(39,6,11,3,1795605781014);
INSERT INTO "Event" VALUES(40,10,11,3,1795605781014);
INSERT INTO "Event" VALUES(41,11,11,3,1795605781014);
INSERT INTO "Event" VALUES(42,3,11,3,1795605781014);
INSERT INTO "Event" VALUES(43,12,11,3,1795605781014);
INSERT INTO "Event" VALUES(44,14,11,3,1795605781014);
INSERT INTO "Event" VALUES(45,8,11,3,1795605781014);
INSERT INTO "Event" VALUES(46,4,11,3,1795605781014);
INSERT INTO "Event" VALUES(47,13,11,3,1795605781014);
INSERT INTO "Event" VALUES(48,7,11,3,1795605781014);
INSERT INTO "Event" VALUES(49,15,11,4,1795605781590);
CREATE TABLE `EventPath` (    `event_id` INT NOT NULL,    `is_index_step` TINYINT(1) NOT NULL,    `step_index` INT,    `step_key` TEXT  );
INSERT INTO "EventPath" VALUES(1,0,NULL,'schema');
INSERT INTO "EventPath" VALUES(1,1,0,NULL);
INSERT INTO "EventPath" VALUES(2,0,NULL,'sample');
INSERT INTO "EventPath" VALUES(2,1,0,NULL);
INSERT INTO "EventPath" VALUES(3,0,NULL,'examples');
INSERT INTO "EventPath" VALUES(3,1,0,NULL);
INSERT INTO "EventPath" VALUES(4,0,NULL,'model');
INSERT INTO "EventPath" VALUES(4,1,0,NULL);
INSERT INTO "EventPath" VALUES(5,0,NULL,'champion');
INSERT INTO "EventPath" VALUES(5,1,0,NULL);
INSERT INTO "EventPath" VALUES(6,0,NULL,'schema');
INSERT INTO "EventPath" VALUES(6,1,0,NULL);
INSERT INTO "EventPath" VALUES(7,0,NULL,'examples');
INSERT INTO "EventPath" VALUES(7,1,0,NULL);
INSERT INTO "EventPath" VALUES(8,0,NULL,'statistics');
INSERT INTO "EventPath" VALUES(8,1,0,NULL);
INSERT INTO "EventPath" VALUES(9,0,NULL,'statistics');
INSERT INTO "EventPath" VALUES(9,1,0,NULL);
INSERT INTO "EventPath" VALUES(10,0,NULL,'schema');
INSERT INTO "EventPath" VALUES(10,1,0,NULL);
INSERT INTO "EventPath" VALUES(11,0,NULL,'anomalies');
INSERT INTO "EventPath" VALUES(11,1,0,NULL);
INSERT INTO "EventPath" VALUES(12,0,NULL,'statistics');
INSERT INTO "EventPath" VALUES(12,1,0,NULL);
INSERT INTO "EventPath" VALUES(13,0,NULL,'schema');
INSERT INTO "EventPath" VALUES(13,1,0,NULL);
INSERT INTO "EventPath" VALUES(14,0,NULL,'baseline');
INSERT INTO "EventPath" VALUES(14,1,0,NULL);
INSERT INTO "EventPath" VALUES(15,0,NULL,'anomalies');
INSERT INTO "EventPath" VALUES(15,1,0,NULL);
INSERT INTO "EventPath" VALUES(16,0,NULL,'validation');
INSERT INTO "EventPath" VALUES(16,1,0,NULL);
INSERT INTO "EventPath" VALUES(17,0,NULL,'schema');
INSERT INTO "EventPath" VALUES(17,1,0,NULL);
INSERT INTO "EventPath" VALUES(18,0,NULL,'examples');
INSERT INTO "EventPath" VALUES(18,1,0,NULL);
INSERT INTO "EventPath" VALUES(19,0,NULL,'transform_graph');
INSERT INTO "EventPath" VALUES(19,1,0,NULL);
INSERT INTO "EventPath" VALUES(20,0,NULL,'schema');
INSERT INTO "EventPath" VALUES(20,1,0,NULL);
INSERT INTO "EventPath" VALUES(21,0,NULL,'examples');
INSERT INTO "EventPath" VALUES(21,1,0,NULL);
INSERT INTO "EventPath" VALUES(22,0,NULL,'base_model');
INSERT INTO "EventPath" VALUES(22,1,0,NULL);
INSERT INTO "EventPath" VALUES(23,0,NULL,'transform_graph');
INSERT INTO "EventPath" VALUES(23,1,0,NULL);
INSERT INTO "EventPath" VALUES(24,0,NULL,'model');
INSERT INTO "EventPath" VALUES(24,1,0,NULL);
INSERT INTO "EventPath" VALUES(25,0,NULL,'model_run');
INSERT INTO "EventPath" VALUES(25,1,0,NULL);
INSERT INTO "EventPath" VALUES(26,0,NULL,'baseline_model');
INSERT INTO "EventPath" VALUES(26,1,0,NULL);
INSERT INTO "EventPath" VALUES(27,0,NULL,'model');
INSERT INTO "EventPath" VALUES(27,1,0,NULL);
INSERT INTO "EventPath" VALUES(28,0,NULL,'examples');
INSERT INTO "EventPath" VALUES(28,1,0,NULL);
INSERT INTO "EventPath" VALUES(29,0,NULL,'champion');
INSERT INTO "EventPath" VALUES(29,1,0,NULL);
INSERT INTO "EventPath" VALUES(30,0,NULL,'blessing');
INSERT INTO "EventPath" VALUES(30,1,0,NULL);
INSERT INTO "EventPath" VALUES(31,0,NULL,'evaluation');
INSERT INTO "EventPath" VALUES(31,1,0,NULL);
INSERT INTO "EventPath" VALUES(32,0,NULL,'statistics');
INSERT INTO "EventPath" VALUES(32,1,0,NULL);
INSERT INTO "EventPath" VALUES(33,0,NULL,'model');
INSERT INTO "EventPath" VALUES(33,1,0,NULL);
INSERT INTO "EventPath" VALUES(34,0,NULL,'examples');
INSERT INTO "EventPath" VALUES(34,1,0,NULL);
INSERT INTO "EventPath" VALUES(35,0,NULL,'baseline');
INSERT INTO "EventPath" VALUES(35,1,0,NULL);
INSERT INTO "EventPath" VALUES(36,0,NULL,'evaluation');
INSERT INTO "EventPath" VALUES(36,1,0,NULL);
INSERT INTO "EventPath" VALUES(37,0,NULL,'model_blessing');
INSERT INTO "EventPath" VALUES(37,1,0,NULL);
INSERT INTO "EventPath" VALUES(38,0,NULL,'pushed_model');
INSERT INTO "EventPath" VALUES(38,1,0,NULL);
INSERT INTO "EventPath" VALUES(39,0,NULL,'statistics');
INSERT INTO "EventPath" VALUES(39,1,0,NULL);
INSERT INTO "EventPath" VALUES(40,0,NULL,'model');
INSERT INTO "EventPath" VALUES(40,1,0,NULL);
INSERT INTO "EventPath" VALUES(41,0,NULL,'model_run');
INSERT INTO "EventPath" VALUES(41,1,0,NULL);
INSERT INTO "EventPath" VALUES(42,0,NULL,'examples');
INSERT INTO "EventPath" VALUES(42,1,0,NULL);
INSERT INTO "EventPath" VALUES(43,0,NULL,'model_blessing');
INSERT INTO "EventPath" VALUES(43,1,0,NULL);
INSERT INTO "EventPath" VALUES(44,0,NULL,'pushed_model');
INSERT INTO "EventPath" VALUES(44,1,0,NULL);
INSERT INTO "EventPath" VALUES(45,0,NULL,'validation');
INSERT INTO "EventPath" VALUES(45,1,0,NULL);
INSERT INTO "EventPath" VALUES(46,0,NULL,'baseline');
INSERT INTO "EventPath" VALUES(46,1,0,NULL);
INSERT INTO "EventPath" VALUES(47,0,NULL,'evaluation');
INSERT INTO "EventPath" VALUES(47,1,0,NULL);
INSERT INTO "EventPath" VALUES(48,0,NULL,'anomalies');
INSERT INTO "EventPath" VALUES(48,1,0,NULL);
INSERT INTO "EventPath" VALUES(49,0,NULL,'report');
INSERT INTO "EventPath" VALUES(49,1,0,NULL);
CREATE TABLE `Execution` (    `id` INTEGER PRIMARY KEY AUTOINCREMENT,    `type_id` INT NOT NULL,    `last_known_state` INT,    `name` VARCHAR(255),    `external_id` VARCHAR(255) UNIQUE,    `create_time_since_epoch` INT NOT NULL DEFAULT 0,    `last_update_time_since_epoch` INT NOT NULL DEFAULT 0,    UNIQUE(`type_id`, `name`)  );
INSERT INTO "Execution" VALUES(1,13,3,'c0f83e02-189f-4ac3-803b-c296f9a16e74',NULL,1795605760726,1795605760798);
INSERT INTO "Execution" VALUES(2,16,3,'9ff0713c-a3ba-40f4-933a-780bb856f32b',NULL,1795605760850,1795605761404);
INSERT INTO "Execution" VALUES(3,18,3,'2750b1d4-0eaf-4326-8964-be5ae7bc5276',NULL,1795605761417,1795605761470);
INSERT INTO "Execution" VALUES(4,20,3,'d9292689-0b70-4bd4-93a3-d99a36360b0c',NULL,1795605761531,1795605761591);
INSERT INTO "Execution" VALUES(5,22,3,'3605238f-8579-4b0b-b402-846d92f97b77',NULL,1795605761644,1795605761750);
INSERT INTO "Execution" VALUES(6,24,3,'ec415d6d-c65f-4aa5-9945-9d10bbe94bd4',NULL,1795605762024,1795605762128);
INSERT INTO "Execution" VALUES(7,25,3,'94b5d7f3-f5a4-4a13-bcad-84e17db23a50',NULL,1795605762346,1795605763497);
INSERT INTO "Execution" VALUES(8,27,3,'1c95028a-4d8e-4467-b9cd-b54a1d1c9c47',NULL,1795605763782,1795605777645);
INSERT INTO "Execution" VALUES(9,29,3,'748cfe4e-413e-4c5a-89d8-4a8dcbd142f5',NULL,1795605777859,1795605780199);
INSERT INTO "Execution" VALUES(10,32,3,'3ceda5bb-b5c8-4672-a9e6-65782b688028',NULL,1795605780529,1795605780734);
INSERT INTO "Execution" VALUES(11,34,3,'a11f878e-dd98-437d-a652-788d7ee36f40',NULL,1795605781013,1795605781590);
CREATE TABLE `ExecutionProperty` (    `execution_id` INT NOT NULL,    `name` VARCHAR(255) NOT NULL,    `is_custom_property` TINYINT(1) NOT NULL,    `int_value` INT,    `double_value` DOUBLE,    `string_value` TEXT,    `byte_value` BLOB,    `proto_value` BLOB,    `bool_value` BOOLEAN,  PRIMARY KEY (`execution_id`, `name`, `is_custom_property`));
INSERT INTO "ExecutionProperty" VALUES(1,'curated_schema',1,NULL,NULL,'feature {
  name: "id"
  type: BYTES
  presence {
    min_fraction: 1.0
    min_count: 1
  }
  shape {
  }
}
feature {
  name: "labels"
  value_count {
    min: 1
  }
  type: INT
  int_domain {
    name: "labels"
    min: 0
    max: 4
    is_categorical: true
  }
  presence {
    min_fraction: 1.0
    min_count: 1
  }
}
feature {
  name: "mean_rgb"
  type: FLOAT
  float_domain {
    min: -2.0
    max: 2.01
    disallow_nan: true
    disallow_inf: true
  }
  presence {
    min_fraction: 1.0
    min_count: 1
  }
  shape {
    dim {
      size: 16
    }
  }
}
feature {
  name: "mean_audio"
  type: FLOAT
  float_domain {
    min: -2.0
    max: 2.01
    disallow_nan: true
    disallow_inf: true
  }
  presence {
    min_fraction: 1.0
    min_count: 1
  }
  shape {
    dim {
      size: 8
    }
  }
}
',NULL,NULL,NULL);
INSERT INTO "ExecutionProperty" VALUES(1,'code_version',1,NULL,NULL,'8e5d7b80c6a9da92',NULL,NULL,NULL);
INSERT INTO "ExecutionProperty" VALUES(2,'config',1,NULL,NULL,'{"bad_input": "fail", "divide": {"buckets": {"eval": 1, "train": 9}, "patterns": []}, "ingest": "link", "level": "video", "max_quarantined": 0.01, "rewrite": {"compression": "none", "keep": "", "parse": "", "shard_mb": 64, "shuffle_seed": 0}, "root": "ROOT/data", "sample_mb": null, "span": "latest", "splits": {"eval": ["validate*"], "test": [], "train": ["train*"]}, "unlabelled": ["test"], "verify": "full", "workers": 0}',NULL,NULL,NULL);
INSERT INTO "ExecutionProperty" VALUES(2,'source_digest',1,NULL,NULL,'17b1ef781fca31c8',NULL,NULL,NULL);
INSERT INTO "ExecutionProperty" VALUES(2,'cache_dir',1,NULL,NULL,'ROOT/root/verified',NULL,NULL,NULL);
INSERT INTO "ExecutionProperty" VALUES(2,'code_version',1,NULL,NULL,'565f3cb6feb8334f',NULL,NULL,NULL);
INSERT INTO "ExecutionProperty" VALUES(2,'span',1,NULL,NULL,'',NULL,NULL,NULL);
INSERT INTO "ExecutionProperty" VALUES(2,'data_root',1,NULL,NULL,'',NULL,NULL,NULL);
INSERT INTO "ExecutionProperty" VALUES(2,'roles',1,NULL,NULL,'{"judged": "eval", "train": "train", "validation": "eval"}',NULL,NULL,NULL);
INSERT INTO "ExecutionProperty" VALUES(2,'features',1,NULL,NULL,'{"max_frames": 300, "names": ["rgb", "audio"], "num_classes": 5, "sizes": [16, 8]}',NULL,NULL,NULL);
INSERT INTO "ExecutionProperty" VALUES(3,'push_dir',1,NULL,NULL,'ROOT/push',NULL,NULL,NULL);
INSERT INTO "ExecutionProperty" VALUES(3,'registry_digest',1,NULL,NULL,'none',NULL,NULL,NULL);
INSERT INTO "ExecutionProperty" VALUES(3,'registry',1,NULL,NULL,'{"password_env": "YT8M_SIGNING_PASSWORD", "require_signature": false, "signing_certificates": "", "signing_key": "", "trusted_key": ""}',NULL,NULL,NULL);
INSERT INTO "ExecutionProperty" VALUES(3,'code_version',1,NULL,NULL,'5261346463842f10',NULL,NULL,NULL);
INSERT INTO "ExecutionProperty" VALUES(3,'config',1,NULL,NULL,'{"version": "newest"}',NULL,NULL,NULL);
INSERT INTO "ExecutionProperty" VALUES(4,'code_version',1,NULL,NULL,'3411dfcb0a5f5cc3',NULL,NULL,NULL);
INSERT INTO "ExecutionProperty" VALUES(4,'stats_options_json',1,NULL,NULL,'{"TYPE_NAME": "StatsOptions", "_add_default_generators": true, "_desired_batch_size": null, "_experimental_filter_read_paths": false, "_experimental_num_feature_partitions": 1, "_experimental_result_partitions": 1, "_feature_allowlist": null, "_generators": null, "_num_histogram_buckets": 100, "_num_quantiles_histogram_buckets": 10, "_num_values_histogram_buckets": 10, "_per_feature_stats_config": null, "_per_feature_weight_override": null, "_sample_rate": null, "_schema": null, "_semantic_domain_stats_sample_rate": null, "_slice_functions": null, "_slice_sqls": null, "_slicing_config": null, "_use_sketch_based_topk_uniques": true, "_vocab_paths": null, "enable_semantic_domain_stats": false, "epsilon": 0.01, "frequency_threshold": 1, "infer_type_from_schema": false, "label_feature": null, "num_rank_histogram_buckets": 5000, "num_top_values": 20, "weight_feature": null, "weighted_frequency_threshold": 1.0}',NULL,NULL,NULL);
INSERT INTO "ExecutionProperty" VALUES(5,'exclude_splits',1,NULL,NULL,'[]',NULL,NULL,NULL);
INSERT INTO "ExecutionProperty" VALUES(6,'code_version',1,NULL,NULL,'8e5d7b80c6a9da92',NULL,NULL,NULL);
INSERT INTO "ExecutionProperty" VALUES(6,'config',1,NULL,NULL,'{"feature_drift": 0.02, "feature_skew": 0.02, "label_drift": 0.1, "label_skew": 0.1, "mean_drift": 0.05, "mean_skew": 0.05, "on_drift": "warn", "share_drift": 0.05, "share_skew": 0.05, "spread_drift": 0.05, "spread_skew": 0.05}',NULL,NULL,NULL);
INSERT INTO "ExecutionProperty" VALUES(7,'disable_statistics',1,1,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "ExecutionProperty" VALUES(7,'force_tf_compat_v1',1,0,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "ExecutionProperty" VALUES(7,'preprocessing_fn',1,NULL,NULL,'yt8m.components.transform.preprocessing.preprocessing_fn',NULL,NULL,NULL);
INSERT INTO "ExecutionProperty" VALUES(7,'custom_config',1,NULL,NULL,'{"code": ["yt8m.components.transform.preprocessing.preprocessing_fn"], "code_version": "0064846f7d07579b", "config": {"function": "", "materialize": false}, "features": {"max_frames": 300, "names": ["rgb", "audio"], "num_classes": 5, "sizes": [16, 8]}, "level": "video"}',NULL,NULL,NULL);
INSERT INTO "ExecutionProperty" VALUES(8,'custom_config',1,NULL,NULL,'{"checkpoint_root": "ROOT/root/checkpoints", "code": ["yt8m.components.trainer.backends.run.run_fn"], "code_version": "c46ae853c53cead9", "config": {"accumulate": 1, "backend": {"name": "in_process"}, "batch_size": 128, "checkpoint": {"every_s": 900.0, "every_steps": 5, "keep": 1, "keep_every_hours": null}, "clip": "variable", "clip_gradient_norm": 1.0, "clip_micro_batches": false, "distribution": {"heartbeat_timeout_s": 60.0, "log_placement": false, "max_devices": null, "memory_growth": true, "peer_timeout_s": 300.0, "placement": "auto", "worker_stagger_max_s": 60.0, "worker_stagger_s": 5.0}, "early_stopping": {"name": "none"}, "ema_momentum": null, "evaluation": {"enabled": true, "exporters": [], "idle_limit_s": null, "name": "", "other_splits": [], "start_delay_s": 120.0, "steps": 100, "throttle_s": 600.0, "uses_gpu": false}, "heads": [], "hooks": [], "input": "", "inputs": {"bucket_batches": 1, "bucket_multiple": 8, "prefetch": 4, "shuffle_mb": null}, "log": {"every_steps": 10, "histograms": ["weights"], "histograms_every_steps": null, "metric_rows": 128, "tensorboard": true}, "max_seconds": null, "max_steps": 30, "metrics": [], "mixture": [], "model": {"batch_norm": false, "blocks": 1, "classifier": {"l2": 1e-08, "name": "logistic"}, "context_gating": false, "dropout": 0.1, "input_dropout": 0.0, "members": 1, "modality_norm": false, "name": "mlp", "width": 8}, "network": "", "normalize_gradients": true, "num_epochs": null, "optimizer": {"beta_1": 0.9, "beta_2": 0.999, "epsilon": 1e-07, "learning_rate": 0.003, "name": "adam"}, "precision": "auto", "regularisation_penalty": 1.0, "retrieval": null, "schedule": {"final": 0.0, "name": "cosine", "warmup_examples": 0}, "seed": 0, "segments": null, "sharing": "trunk", "start_from_base": false, "start_new_model": false, "steps_per_loop": null, "teacher": null, "train_fraction": 1.0, "train_split": "train", "validation": {"every_steps": null, "excluded_heads": [], "go_back": false, "halve": true, "keep_best": true, "metric": "loss", "min_relative_change": 0.0, "num_tries": null, "reset_tries": true, "steps": null}, "validation_split": "eval", "warm_start": "", "warm_start_weights": [], "weight_rules": [], "xla": "auto"}, "digests": {"evaluator.context": "", "evaluator.vocabulary": "", "trainer.warm_start": ""}, "features": {"max_frames": 300, "names": ["rgb", "audio"], "num_classes": 5, "sizes": [16, 8]}, "level": "video", "transform": "", "vocabulary": ""}',NULL,NULL,NULL);
INSERT INTO "ExecutionProperty" VALUES(8,'eval_args',1,NULL,NULL,'{
  "splits": [
    "eval"
  ]
}',NULL,NULL,NULL);
INSERT INTO "ExecutionProperty" VALUES(8,'run_fn',1,NULL,NULL,'yt8m.components.trainer.backends.run.run_fn',NULL,NULL,NULL);
INSERT INTO "ExecutionProperty" VALUES(8,'train_args',1,NULL,NULL,'{
  "splits": [
    "train"
  ]
}',NULL,NULL,NULL);
INSERT INTO "ExecutionProperty" VALUES(9,'vocabulary_digest',1,NULL,NULL,'',NULL,NULL,NULL);
INSERT INTO "ExecutionProperty" VALUES(9,'config',1,NULL,NULL,'{"batch_size": null, "context": "", "eval_config": "", "intervals": {"enabled": true, "level": 0.95, "max_videos": 20000, "seed": 0}, "metrics": [], "segments": null, "slices": [], "spans": "newest", "split": "eval", "top_k": 20, "vocabulary": ""}',NULL,NULL,NULL);
INSERT INTO "ExecutionProperty" VALUES(9,'code_version',1,NULL,NULL,'a9710df96917854c',NULL,NULL,NULL);
INSERT INTO "ExecutionProperty" VALUES(9,'gap_threshold',1,NULL,NULL,'',NULL,NULL,NULL);
INSERT INTO "ExecutionProperty" VALUES(9,'features',1,NULL,NULL,'{"max_frames": 300, "names": ["rgb", "audio"], "num_classes": 5, "sizes": [16, 8]}',NULL,NULL,NULL);
INSERT INTO "ExecutionProperty" VALUES(9,'cache_dir',1,NULL,NULL,'ROOT/root/scores',NULL,NULL,NULL);
INSERT INTO "ExecutionProperty" VALUES(9,'gap_change_threshold',1,NULL,NULL,'',NULL,NULL,NULL);
INSERT INTO "ExecutionProperty" VALUES(9,'gate',1,NULL,NULL,'{"confident": false, "gap_change_threshold": null, "gap_relative_change_threshold": null, "gap_threshold": 0.001, "max_latency_ms": null, "max_memory_mb": null, "min_examples": 1, "mode": "enforce", "thresholds": []}',NULL,NULL,NULL);
INSERT INTO "ExecutionProperty" VALUES(10,'run_key',1,NULL,NULL,'4aedc586aefff18e',NULL,NULL,NULL);
INSERT INTO "ExecutionProperty" VALUES(10,'configuration',1,NULL,NULL,'{"baseline": {"version": "newest"}, "data": {"bad_input": "fail", "divide": {"buckets": {"eval": 1, "train": 9}, "patterns": []}, "ingest": "link", "level": "video", "max_quarantined": 0.01, "rewrite": {"compression": "none", "keep": "", "parse": "", "shard_mb": 64, "shuffle_seed": 0}, "root": "ROOT/data", "sample_mb": null, "span": "latest", "splits": {"eval": ["validate*"], "test": [], "train": ["train*"]}, "unlabelled": ["test"], "verify": "full", "workers": 0}, "evaluator": {"batch_size": null, "context": "", "eval_config": "", "intervals": {"enabled": true, "level": 0.95, "max_videos": 20000, "seed": 0}, "metrics": [], "segments": null, "slices": [], "spans": "newest", "split": "eval", "top_k": 20, "vocabulary": ""}, "features": {"max_frames": 300, "names": ["rgb", "audio"], "num_classes": 5, "sizes": [16, 8]}, "gate": {"confident": false, "gap_change_threshold": null, "gap_relative_change_threshold": null, "gap_threshold": 0.001, "max_latency_ms": null, "max_memory_mb": null, "min_examples": 1, "mode": "enforce", "thresholds": []}, "infra_check": {"batch_sizes": [1, 8, 64], "enabled": false, "records": 8, "requests": 100, "seconds": 2.0, "timeout_s": 600.0, "uses_gpu": false}, "trainer": {"accumulate": 1, "backend": {"name": "in_process"}, "batch_size": 128, "checkpoint": {"every_s": 900.0, "every_steps": 5, "keep": 1, "keep_every_hours": null}, "clip": "variable", "clip_gradient_norm": 1.0, "clip_micro_batches": false, "distribution": {"heartbeat_timeout_s": 60.0, "log_placement": false, "max_devices": null, "memory_growth": true, "peer_timeout_s": 300.0, "placement": "auto", "worker_stagger_max_s": 60.0, "worker_stagger_s": 5.0}, "early_stopping": {"name": "none"}, "ema_momentum": null, "evaluation": {"enabled": true, "exporters": [], "idle_limit_s": null, "name": "", "other_splits": [], "start_delay_s": 120.0, "steps": 100, "throttle_s": 600.0, "uses_gpu": false}, "heads": [], "hooks": [], "input": "", "inputs": {"bucket_batches": 1, "bucket_multiple": 8, "prefetch": 4, "shuffle_mb": null}, "log": {"every_steps": 10, "histograms": ["weights"], "histograms_every_steps": null, "metric_rows": 128, "tensorboard": true}, "max_seconds": null, "max_steps": 30, "metrics": [], "mixture": [], "model": {"batch_norm": false, "blocks": 1, "classifier": {"l2": 1e-08, "name": "logistic"}, "context_gating": false, "dropout": 0.1, "input_dropout": 0.0, "members": 1, "modality_norm": false, "name": "mlp", "width": 8}, "network": "", "normalize_gradients": true, "num_epochs": null, "optimizer": {"beta_1": 0.9, "beta_2": 0.999, "epsilon": 1e-07, "learning_rate": 0.003, "name": "adam"}, "precision": "auto", "regularisation_penalty": 1.0, "retrieval": null, "schedule": {"final": 0.0, "name": "cosine", "warmup_examples": 0}, "seed": 0, "segments": null, "sharing": "trunk", "start_from_base": false, "start_new_model": false, "steps_per_loop": null, "teacher": null, "train_fraction": 1.0, "train_split": "train", "validation": {"every_steps": null, "excluded_heads": [], "go_back": false, "halve": true, "keep_best": true, "metric": "loss", "min_relative_change": 0.0, "num_tries": null, "reset_tries": true, "steps": null}, "validation_split": "eval", "warm_start": "", "warm_start_weights": [], "weight_rules": [], "xla": "auto"}, "transform": {"function": "", "materialize": false}, "validation": {"feature_drift": 0.02, "feature_skew": 0.02, "label_drift": 0.1, "label_skew": 0.1, "mean_drift": 0.05, "mean_skew": 0.05, "on_drift": "warn", "share_drift": 0.05, "share_skew": 0.05, "spread_drift": 0.05, "spread_skew": 0.05}}',NULL,NULL,NULL);
INSERT INTO "ExecutionProperty" VALUES(10,'config',1,NULL,NULL,'{"keep_versions": 5, "license": "", "push_dir": "ROOT/push"}',NULL,NULL,NULL);
INSERT INTO "ExecutionProperty" VALUES(10,'registry',1,NULL,NULL,'{"password_env": "YT8M_SIGNING_PASSWORD", "require_signature": false, "signing_certificates": "", "signing_key": "", "trusted_key": ""}',NULL,NULL,NULL);
INSERT INTO "ExecutionProperty" VALUES(10,'code_version',1,NULL,NULL,'7dc816011cc299db',NULL,NULL,NULL);
INSERT INTO "ExecutionProperty" VALUES(10,'push_dir',1,NULL,NULL,'ROOT/push',NULL,NULL,NULL);
INSERT INTO "ExecutionProperty" VALUES(11,'code_version',1,NULL,NULL,'262bce7e0bf914eb',NULL,NULL,NULL);
INSERT INTO "ExecutionProperty" VALUES(11,'run_file',1,NULL,NULL,'ROOT/root/newest-run/run.json',NULL,NULL,NULL);
INSERT INTO "ExecutionProperty" VALUES(11,'pipeline',1,NULL,NULL,'smoke',NULL,NULL,NULL);
INSERT INTO "ExecutionProperty" VALUES(11,'configuration',1,NULL,NULL,'{"baseline": {"version": "newest"}, "beam": {"options": [], "parallelism": null, "runner": "local"}, "data": {"bad_input": "fail", "divide": {"buckets": {"eval": 1, "train": 9}, "patterns": []}, "ingest": "link", "level": "video", "max_quarantined": 0.01, "rewrite": {"compression": "none", "keep": "", "parse": "", "shard_mb": 64, "shuffle_seed": 0}, "root": "ROOT/data", "sample_mb": null, "span": "latest", "splits": {"eval": ["validate*"], "test": [], "train": ["train*"]}, "unlabelled": ["test"], "verify": "full", "workers": 0}, "evaluator": {"batch_size": null, "context": "", "eval_config": "", "intervals": {"enabled": true, "level": 0.95, "max_videos": 20000, "seed": 0}, "metrics": [], "segments": null, "slices": [], "spans": "newest", "split": "eval", "top_k": 20, "vocabulary": ""}, "features": {"max_frames": 300, "names": ["rgb", "audio"], "num_classes": 5, "sizes": [16, 8]}, "gate": {"confident": false, "gap_change_threshold": null, "gap_relative_change_threshold": null, "gap_threshold": 0.001, "max_latency_ms": null, "max_memory_mb": null, "min_examples": 1, "mode": "enforce", "thresholds": []}, "infra_check": {"batch_sizes": [1, 8, 64], "enabled": false, "records": 8, "requests": 100, "seconds": 2.0, "timeout_s": 600.0, "uses_gpu": false}, "metadata": {"mysql": null}, "name": "smoke", "notify": {"command": [], "timeout_s": 60.0}, "openlineage": {"file": "", "namespace": "yt8m", "timeout_s": 5.0, "token_env": "YT8M_OPENLINEAGE_TOKEN", "url": ""}, "pusher": {"keep_versions": 5, "license": "", "push_dir": "ROOT/push"}, "registry": {"password_env": "YT8M_SIGNING_PASSWORD", "require_signature": false, "signing_certificates": "", "signing_key": "", "trusted_key": ""}, "report": {"classes": 12, "curves": [], "support": 10}, "retention": {"after_each_run": null, "keep_days": 30.0, "keep_runs": 10}, "retrain": {"alarm_days": null, "backoff_max_s": 3600.0, "backoff_s": 60.0, "metrics_file": "", "retries": 2, "rollback": false, "timezone": "UTC", "warm_start": true, "window": 1}, "root": "ROOT/root", "trainer": {"accumulate": 1, "backend": {"name": "in_process"}, "batch_size": 128, "checkpoint": {"every_s": 900.0, "every_steps": 5, "keep": 1, "keep_every_hours": null}, "clip": "variable", "clip_gradient_norm": 1.0, "clip_micro_batches": false, "distribution": {"heartbeat_timeout_s": 60.0, "log_placement": false, "max_devices": null, "memory_growth": true, "peer_timeout_s": 300.0, "placement": "auto", "worker_stagger_max_s": 60.0, "worker_stagger_s": 5.0}, "early_stopping": {"name": "none"}, "ema_momentum": null, "evaluation": {"enabled": true, "exporters": [], "idle_limit_s": null, "name": "", "other_splits": [], "start_delay_s": 120.0, "steps": 100, "throttle_s": 600.0, "uses_gpu": false}, "heads": [], "hooks": [], "input": "", "inputs": {"bucket_batches": 1, "bucket_multiple": 8, "prefetch": 4, "shuffle_mb": null}, "log": {"every_steps": 10, "histograms": ["weights"], "histograms_every_steps": null, "metric_rows": 128, "tensorboard": true}, "max_seconds": null, "max_steps": 30, "metrics": [], "mixture": [], "model": {"batch_norm": false, "blocks": 1, "classifier": {"l2": 1e-08, "name": "logistic"}, "context_gating": false, "dropout": 0.1, "input_dropout": 0.0, "members": 1, "modality_norm": false, "name": "mlp", "width": 8}, "network": "", "normalize_gradients": true, "num_epochs": null, "optimizer": {"beta_1": 0.9, "beta_2": 0.999, "epsilon": 1e-07, "learning_rate": 0.003, "name": "adam"}, "precision": "auto", "regularisation_penalty": 1.0, "retrieval": null, "schedule": {"final": 0.0, "name": "cosine", "warmup_examples": 0}, "seed": 0, "segments": null, "sharing": "trunk", "start_from_base": false, "start_new_model": false, "steps_per_loop": null, "teacher": null, "train_fraction": 1.0, "train_split": "train", "validation": {"every_steps": null, "excluded_heads": [], "go_back": false, "halve": true, "keep_best": true, "metric": "loss", "min_relative_change": 0.0, "num_tries": null, "reset_tries": true, "steps": null}, "validation_split": "eval", "warm_start": "", "warm_start_weights": [], "weight_rules": [], "xla": "auto"}, "transform": {"function": "", "materialize": false}, "validation": {"feature_drift": 0.02, "feature_skew": 0.02, "label_drift": 0.1, "label_skew": 0.1, "mean_drift": 0.05, "mean_skew": 0.05, "on_drift": "warn", "share_drift": 0.05, "share_skew": 0.05, "spread_drift": 0.05, "spread_skew": 0.05}}',NULL,NULL,NULL);
INSERT INTO "ExecutionProperty" VALUES(11,'config',1,NULL,NULL,'{"classes": 12, "curves": [], "support": 10}',NULL,NULL,NULL);
CREATE TABLE `MLMDEnv` (    `schema_version` INTEGER PRIMARY KEY  );
INSERT INTO "MLMDEnv" VALUES(10);
CREATE TABLE `ParentContext` (    `context_id` INT NOT NULL,    `parent_context_id` INT NOT NULL,  PRIMARY KEY (`context_id`, `parent_context_id`));
INSERT INTO "ParentContext" VALUES(2,1);
CREATE TABLE `ParentType` (    `type_id` INT NOT NULL,    `parent_type_id` INT NOT NULL,  PRIMARY KEY (`type_id`, `parent_type_id`));
INSERT INTO "ParentType" VALUES(17,1);
INSERT INTO "ParentType" VALUES(19,2);
INSERT INTO "ParentType" VALUES(21,4);
INSERT INTO "ParentType" VALUES(25,6);
INSERT INTO "ParentType" VALUES(27,5);
INSERT INTO "ParentType" VALUES(33,2);
CREATE TABLE `Type` (    `id` INTEGER PRIMARY KEY AUTOINCREMENT,    `name` VARCHAR(255) NOT NULL,    `version` VARCHAR(255),    `type_kind` TINYINT(1) NOT NULL,    `description` TEXT,    `input_type` TEXT,    `output_type` TEXT,    `external_id` VARCHAR(255) UNIQUE );
INSERT INTO "Type" VALUES(1,'mlmd.Dataset',NULL,1,NULL,NULL,NULL,NULL);
INSERT INTO "Type" VALUES(2,'mlmd.Model',NULL,1,NULL,NULL,NULL,NULL);
INSERT INTO "Type" VALUES(3,'mlmd.Metrics',NULL,1,NULL,NULL,NULL,NULL);
INSERT INTO "Type" VALUES(4,'mlmd.Statistics',NULL,1,NULL,NULL,NULL,NULL);
INSERT INTO "Type" VALUES(5,'mlmd.Train',NULL,0,NULL,NULL,NULL,NULL);
INSERT INTO "Type" VALUES(6,'mlmd.Transform',NULL,0,NULL,NULL,NULL,NULL);
INSERT INTO "Type" VALUES(7,'mlmd.Process',NULL,0,NULL,NULL,NULL,NULL);
INSERT INTO "Type" VALUES(8,'mlmd.Evaluate',NULL,0,NULL,NULL,NULL,NULL);
INSERT INTO "Type" VALUES(9,'mlmd.Deploy',NULL,0,NULL,NULL,NULL,NULL);
INSERT INTO "Type" VALUES(10,'pipeline',NULL,2,NULL,NULL,NULL,NULL);
INSERT INTO "Type" VALUES(11,'pipeline_run',NULL,2,NULL,NULL,NULL,NULL);
INSERT INTO "Type" VALUES(12,'node',NULL,2,NULL,NULL,NULL,NULL);
INSERT INTO "Type" VALUES(13,'yt8m.components.validation.component.SchemaGen',NULL,0,NULL,NULL,NULL,NULL);
INSERT INTO "Type" VALUES(14,'execution_cache',NULL,2,NULL,NULL,NULL,NULL);
INSERT INTO "Type" VALUES(15,'Schema',NULL,1,NULL,NULL,NULL,NULL);
INSERT INTO "Type" VALUES(16,'yt8m.components.example_gen.component.ExampleGen',NULL,0,NULL,NULL,NULL,NULL);
INSERT INTO "Type" VALUES(17,'Examples',NULL,1,NULL,NULL,NULL,NULL);
INSERT INTO "Type" VALUES(18,'yt8m.components.baseline.component.Baseline',NULL,0,NULL,NULL,NULL,NULL);
INSERT INTO "Type" VALUES(19,'Model',NULL,1,NULL,NULL,NULL,NULL);
INSERT INTO "Type" VALUES(20,'yt8m.components.validation.component.StatisticsGen',NULL,0,NULL,NULL,NULL,NULL);
INSERT INTO "Type" VALUES(21,'ExampleStatistics',NULL,1,NULL,NULL,NULL,NULL);
INSERT INTO "Type" VALUES(22,'tfx.components.example_validator.component.ExampleValidator',NULL,0,NULL,NULL,NULL,NULL);
INSERT INTO "Type" VALUES(23,'ExampleAnomalies',NULL,1,NULL,NULL,NULL,NULL);
INSERT INTO "Type" VALUES(24,'yt8m.components.validation.component.ValidationGate',NULL,0,NULL,NULL,NULL,NULL);
INSERT INTO "Type" VALUES(25,'tfx.components.transform.component.Transform',NULL,0,NULL,NULL,NULL,NULL);
INSERT INTO "Type" VALUES(26,'TransformGraph',NULL,1,NULL,NULL,NULL,NULL);
INSERT INTO "Type" VALUES(27,'tfx.components.trainer.component.Trainer',NULL,0,NULL,NULL,NULL,NULL);
INSERT INTO "Type" VALUES(28,'ModelRun',NULL,1,NULL,NULL,NULL,NULL);
INSERT INTO "Type" VALUES(29,'yt8m.components.evaluator.component.Evaluator',NULL,0,NULL,NULL,NULL,NULL);
INSERT INTO "Type" VALUES(30,'ModelBlessing',NULL,1,NULL,NULL,NULL,NULL);
INSERT INTO "Type" VALUES(31,'ModelEvaluation',NULL,1,NULL,NULL,NULL,NULL);
INSERT INTO "Type" VALUES(32,'yt8m.components.pusher.component.Pusher',NULL,0,NULL,NULL,NULL,NULL);
INSERT INTO "Type" VALUES(33,'PushedModel',NULL,1,NULL,NULL,NULL,NULL);
INSERT INTO "Type" VALUES(34,'yt8m.components.report.component.Report',NULL,0,NULL,NULL,NULL,NULL);
INSERT INTO "Type" VALUES(35,'yt8m.Report',NULL,1,NULL,NULL,NULL,NULL);
CREATE TABLE `TypeProperty` (    `type_id` INT NOT NULL,    `name` VARCHAR(255) NOT NULL,    `data_type` INT NULL,  PRIMARY KEY (`type_id`, `name`));
INSERT INTO "TypeProperty" VALUES(17,'span',1);
INSERT INTO "TypeProperty" VALUES(17,'version',1);
INSERT INTO "TypeProperty" VALUES(17,'split_names',3);
INSERT INTO "TypeProperty" VALUES(21,'span',1);
INSERT INTO "TypeProperty" VALUES(21,'split_names',3);
INSERT INTO "TypeProperty" VALUES(23,'span',1);
INSERT INTO "TypeProperty" VALUES(23,'split_names',3);
CREATE INDEX `idx_artifact_uri`  ON `Artifact`(`uri`);
CREATE INDEX `idx_artifact_create_time_since_epoch`  ON `Artifact`(`create_time_since_epoch`);
CREATE INDEX `idx_artifact_last_update_time_since_epoch`  ON `Artifact`(`last_update_time_since_epoch`);
CREATE INDEX `idx_event_execution_id`  ON `Event`(`execution_id`);
CREATE INDEX `idx_parentcontext_parent_context_id`  ON `ParentContext`(`parent_context_id`);
CREATE INDEX `idx_type_name`  ON `Type`(`name`);
CREATE INDEX `idx_execution_create_time_since_epoch`  ON `Execution`(`create_time_since_epoch`);
CREATE INDEX `idx_execution_last_update_time_since_epoch`  ON `Execution`(`last_update_time_since_epoch`);
CREATE INDEX `idx_context_create_time_since_epoch`  ON `Context`(`create_time_since_epoch`);
CREATE INDEX `idx_context_last_update_time_since_epoch`  ON `Context`(`last_update_time_since_epoch`);
CREATE INDEX `idx_eventpath_event_id`  ON `EventPath`(`event_id`);
CREATE INDEX `idx_artifact_property_int`  ON `ArtifactProperty`(`name`, `is_custom_property`, `int_value`)  WHERE `int_value` IS NOT NULL;
CREATE INDEX `idx_artifact_property_double`  ON `ArtifactProperty`(`name`, `is_custom_property`, `double_value`)  WHERE `double_value` IS NOT NULL;
CREATE INDEX `idx_artifact_property_string`  ON `ArtifactProperty`(`name`, `is_custom_property`, `string_value`)  WHERE `string_value` IS NOT NULL;
CREATE INDEX `idx_execution_property_int`  ON `ExecutionProperty`(`name`, `is_custom_property`, `int_value`)  WHERE `int_value` IS NOT NULL;
CREATE INDEX `idx_execution_property_double`  ON `ExecutionProperty`(`name`, `is_custom_property`, `double_value`)  WHERE `double_value` IS NOT NULL;
CREATE INDEX `idx_execution_property_string`  ON `ExecutionProperty`(`name`, `is_custom_property`, `string_value`)  WHERE `string_value` IS NOT NULL;
CREATE INDEX `idx_context_property_int`  ON `ContextProperty`(`name`, `is_custom_property`, `int_value`)  WHERE `int_value` IS NOT NULL;
CREATE INDEX `idx_context_property_double`  ON `ContextProperty`(`name`, `is_custom_property`, `double_value`)  WHERE `double_value` IS NOT NULL;
CREATE INDEX `idx_context_property_string`  ON `ContextProperty`(`name`, `is_custom_property`, `string_value`)  WHERE `string_value` IS NOT NULL;
CREATE INDEX `idx_type_external_id`  ON `Type`(`external_id`);
CREATE INDEX `idx_artifact_external_id`  ON `Artifact`(`external_id`);
CREATE INDEX `idx_execution_external_id`  ON `Execution`(`external_id`);
CREATE INDEX `idx_context_external_id`  ON `Context`(`external_id`);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('Type',35);
INSERT INTO "sqlite_sequence" VALUES('Context',24);
INSERT INTO "sqlite_sequence" VALUES('Execution',11);
INSERT INTO "sqlite_sequence" VALUES('Association',44);
INSERT INTO "sqlite_sequence" VALUES('Artifact',15);
INSERT INTO "sqlite_sequence" VALUES('Event',49);
INSERT INTO "sqlite_sequence" VALUES('Attribution',94);
COMMIT;