package opensm

// Where OpenSM keeps its files. The environment's OSM_CACHE_DIR and the option
// dump_files_dir name other directories.
const (
	ConfigDir = "/etc/opensm"
	CacheDir  = "/var/cache/opensm"
	DumpDir   = "/var/log/"
)

// The files of the configuration, below ConfigDir.
const (
	ConfigFile     = "opensm.conf"
	PartitionsFile = "partitions.conf"
)

// The files that outlive a run, below CacheDir.
const (
	LIDsFile      = "guid2lid"
	MKeysFile     = "guid2mkey"
	NeighborsFile = "neighbors"
)

// The dumps. The subnet is always dumped, the others where log_flags has
// LogRouting.
const (
	SubnetLstFile = "opensm-subnet.lst"
	LFTsFile      = "opensm-lfts.dump"
	FDBsFile      = "opensm.fdbs"
	MCFDBsFile    = "opensm.mcfdbs"
	LIDMatrixFile = "opensm-lid-matrix.dump"
	SADumpFile    = "opensm-sa.dump"
)

// Bits of log_flags.
const (
	LogError uint8 = 1 << iota
	LogInfo
	LogVerbose
	LogDebug
	LogFunctions
	LogFrames
	LogRouting
	LogSystem
)
