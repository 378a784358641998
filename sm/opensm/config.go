package opensm

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"heddle/ib"
	"heddle/mad"
)

// Config is what administrators set in an opensm.conf. DefaultConfig has
// OpenSM's defaults. Names of files are empty where there is none.
type Config struct {
	// GUID is that of the port to work at, zero for the first that is good.
	GUID                ib.GUID
	MKey                mad.MKey
	MKeyLease           uint16 // seconds
	MKeyProtect         uint8  // 0 to 3
	SMKey, SAKey        mad.SMKey
	SubnetPrefix        uint64
	LMC                 uint8 // 0 to 7
	LMCPort0            bool  // LMC counts for enhanced ports 0 as well
	SMSL                ib.SL
	SubnetTimeout       mad.TimeValue
	PacketLifetime      uint8 // code of the longest time in a switch
	HOQLife             uint8 // code of the longest time at the head of a queue
	LeafHOQLife         uint8
	VLStallCount        uint8
	LeafVLStallCount    uint8
	MaxVLs              mad.DataVLs
	PhyErrors           uint8 // threshold of trap 129
	OverrunErrors       uint8 // threshold of trap 130
	LinkSpeed           uint8 // to be enabled at switches' ports, 15 for all supported, 0 to let be
	LinkSpeedExt        uint8 // 31 for all supported, 30 for none
	LinkWidth           uint8 // 255 for all supported, 0 to let be
	UseMFTTop           bool
	Partitions          string // file
	AllowBothPKeys      bool
	SweepInterval       time.Duration // 0 for no sweeps but on traps
	ReassignLIDs        bool
	ForceHeavySweep     bool
	SweepOnTrap         bool
	Engines             []string // for unicast, the best first; none for the default
	RootGUIDs           string   // file
	UseUcastCache       bool
	Priority            uint8 // 0 to 15
	IgnoreOtherSMs      bool
	PollInterval        time.Duration // of a standby manager
	PollRetries         int           // that fail before the master is dead
	HonorLIDsFile       bool          // after standby
	MaxWireSMPs         int
	TransactionTimeout  time.Duration
	TransactionRetries  int
	Daemon              bool
	Inactive            bool
	BabblingPortPolicy  bool
	DropSubscriptions   bool // of ports that went
	LogFlags            uint8
	LogFile             string
	LogMaxSize          int // MB, 0 for no limit
	DumpDir             string
	NoReregister        bool
	DisableMulticast    bool
	Console             string // off, local, loopback or socket
	ConsolePort         uint16
	QoS                 bool
	QoSKinds            QoSKinds // count with QoS only
	ConsolidateIPv6SNM  bool     // solicited-node groups share MLIDs
	NodeNames           string   // file
	FsyncPersistentData bool
}

// DefaultConfig is what holds without a file.
func DefaultConfig() Config {
	return Config{
		SMKey: 1, SAKey: 1, SubnetPrefix: ib.DefaultPrefix, SubnetTimeout: 18, PacketLifetime: 18, HOQLife: 18, LeafHOQLife: 16,
		VLStallCount: 7, LeafVLStallCount: 7, MaxVLs: mad.DataVLs15, PhyErrors: 8, OverrunErrors: 8,
		LinkSpeed: 15, LinkSpeedExt: 31, LinkWidth: 255, UseMFTTop: true, Partitions: ConfigDir + "/" + PartitionsFile,
		SweepInterval: 10 * time.Second, SweepOnTrap: true, PollInterval: 10 * time.Second, PollRetries: 4, MaxWireSMPs: 4,
		TransactionTimeout: 200 * time.Millisecond, TransactionRetries: 3, LogFlags: LogError | LogInfo,
		LogFile: "/var/log/opensm.log", DumpDir: DumpDir, Console: "off", ConsolePort: 10000, FsyncPersistentData: true, QoSKinds: defaultQoSKinds(),
	}
}

// Report is what was seen in a file beside the Config.
type Report struct {
	// Set has the line of each option of the Config that the file sets.
	Set map[string]int
	// Unsupported are options of OpenSM that have no effect here, though their
	// value wants one. Unknown are those that OpenSM does not have either.
	// Faults are values that could not be used.
	Unsupported, Unknown, Faults []Fault
}

// ReadConfig reads an opensm.conf: an option and its value on each line. What
// is not said, or faulty, is as in DefaultConfig. The error is the reader's.
func ReadConfig(r io.Reader, name string) (Config, Report, error) {
	c := DefaultConfig()
	report := Report{Set: map[string]int{}}
	unsupported, unknown, faulty := faults{file: name}, faults{file: name}, faults{file: name}
	known := c.options()
	err := eachLine(r, func(number int, line string) {
		option, value := cutOption(line)
		take, ok := known[option]
		harmless, theirs := unsupportedValues[option]
		switch {
		case ok:
			if err := take(value); err != nil {
				faulty.report(number, "%s %s: %v", option, shown(value), err)
				return
			}
			report.Set[option] = number
		case !theirs && !strings.HasPrefix(option, "cc_") && !strings.HasPrefix(option, "perfmgr_"):
			unknown.report(number, "%s is no option of OpenSM", shown(option))
		case theirs && !slices.Contains([]string{harmless, ""}, value):
			unsupported.report(number, "%s %s has no effect", option, shown(value))
		}
	})
	if err != nil {
		return Config{}, Report{}, fmt.Errorf("%s: %w", name, err)
	}
	report.Unsupported, report.Unknown, report.Faults = unsupported.list, unknown.list, faulty.list
	return c, report, nil
}

// cutOption gives the option of a line, and its value without a comment after
// it; "(null)" is no value.
func cutOption(line string) (option, value string) {
	option, value = line, ""
	if i := strings.IndexAny(line, " \t"); i >= 0 {
		option, value = line[:i], line[i+1:]
	}
	for _, mark := range []string{" #", "\t#"} {
		value, _, _ = strings.Cut(value, mark)
	}
	value = strings.TrimSpace(value)
	if value == "(null)" {
		value = ""
	}
	return option, value
}
