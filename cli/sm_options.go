package cli

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"heddle/ib"
	"heddle/sm/opensm"
	"heddle/umad"
)

// confOption is an option of an opensm.conf.
type confOption struct {
	name  string
	flag  string // that wins, where it is given
	value func(c *opensm.Config) any
	// take takes the value over, and tells what of it has no effect; nil where
	// nothing of it has, with advice.
	take   func(c *opensm.Config, f *smFlags) (note string, err error)
	advice string
	fixed  bool // a change counts from the next start on only
}

// sets makes a taker of what cannot fail.
func sets(take func(c *opensm.Config, f *smFlags)) func(*opensm.Config, *smFlags) (string, error) {
	return func(c *opensm.Config, f *smFlags) (string, error) {
		take(c, f)
		return "", nil
	}
}

// confOptions are all options that opensm.Config has. A value that is OpenSM's
// default says nothing, so that a file with all of them, as opensm -c writes it,
// leaves heddle's own defaults as they are.
func confOptions() []confOption {
	return slices.Concat(portOptions(), subnetOptions(), managerOptions(), fileOptions(), otherOptions(), qosOptions())
}

// portOptions are about what ports are told.
func portOptions() []confOption {
	type C = opensm.Config
	return []confOption{
		{name: "m_key", fixed: true, value: func(c *C) any { return c.MKey }, take: sets(func(c *C, f *smFlags) { f.base.Ports.MKey, f.base.Ask.MKey = c.MKey, c.MKey })},
		{name: "m_key_lease_period", value: func(c *C) any { return c.MKeyLease }, take: sets(func(c *C, f *smFlags) { f.base.Ports.MKeyLease = c.MKeyLease })},
		{name: "m_key_protection_level", value: func(c *C) any { return c.MKeyProtect }, take: sets(func(c *C, f *smFlags) { f.base.Ports.MKeyProtect = c.MKeyProtect })},
		{name: "sm_sl", value: func(c *C) any { return c.SMSL }, take: sets(func(c *C, f *smFlags) { f.base.Ports.SL = c.SMSL })},
		{name: "subnet_timeout", value: func(c *C) any { return c.SubnetTimeout }, take: sets(func(c *C, f *smFlags) { f.base.Ports.Timeout = c.SubnetTimeout })},
		{name: "head_of_queue_lifetime", value: func(c *C) any { return c.HOQLife }, take: sets(func(c *C, f *smFlags) { f.base.Ports.HOQLife = c.HOQLife })},
		{name: "leaf_head_of_queue_lifetime", value: func(c *C) any { return c.LeafHOQLife }, take: sets(func(c *C, f *smFlags) { f.base.Ports.LeafHOQLife = c.LeafHOQLife })},
		{name: "vl_stall_count", value: func(c *C) any { return c.VLStallCount }, take: sets(func(c *C, f *smFlags) { f.base.Ports.VLStallCount = c.VLStallCount })},
		{name: "leaf_vl_stall_count", value: func(c *C) any { return c.LeafVLStallCount }, take: sets(func(c *C, f *smFlags) { f.base.Ports.LeafVLStallCount = c.LeafVLStallCount })},
		{name: "max_op_vls", value: func(c *C) any { return c.MaxVLs }, take: sets(func(c *C, f *smFlags) { f.base.Ports.MaxVLs = c.MaxVLs })},
		{name: "local_phy_errors_threshold", value: func(c *C) any { return c.PhyErrors }, take: sets(func(c *C, f *smFlags) { f.base.Ports.PhyErrors = c.PhyErrors })},
		{name: "overrun_errors_threshold", value: func(c *C) any { return c.OverrunErrors }, take: sets(func(c *C, f *smFlags) { f.base.Ports.OverrunErrors = c.OverrunErrors })},
		{name: "packet_life_time", value: func(c *C) any { return c.PacketLifetime }, advice: "switches keep theirs"},
		{name: "force_link_speed", value: func(c *C) any { return c.LinkSpeed }, advice: "ports keep the speeds that are enabled"},
		{name: "force_link_speed_ext", value: func(c *C) any { return c.LinkSpeedExt }, advice: "ports keep the speeds that are enabled"},
		{name: "force_link_width", value: func(c *C) any { return c.LinkWidth }, advice: "ports keep the widths that are enabled"},
	}
}

// subnetOptions are about addresses, partitions and routes.
func subnetOptions() []confOption {
	type C = opensm.Config
	return []confOption{
		{name: "subnet_prefix", fixed: true, value: func(c *C) any { return c.SubnetPrefix }, take: sets(func(c *C, f *smFlags) { f.base.Ports.Prefix = c.SubnetPrefix })},
		{name: "lmc", value: func(c *C) any { return c.LMC }, take: sets(func(c *C, f *smFlags) { f.base.LIDs.LMC = c.LMC })},
		{name: "lmc_esp0", value: func(c *C) any { return c.LMCPort0 }, take: sets(func(c *C, f *smFlags) { f.base.LIDs.LMCPort0 = c.LMCPort0 })},
		{name: "reassign_lids", value: func(c *C) any { return c.ReassignLIDs }, take: sets(func(c *C, f *smFlags) { f.base.LIDs.Reassign = c.ReassignLIDs })},
		{name: "honor_guid2lid_file", value: func(c *C) any { return c.HonorLIDsFile }, take: sets(func(c *C, f *smFlags) { f.base.LIDsAfterStandby = c.HonorLIDsFile })},
		{name: "partition_config_file", flag: "partitions", value: func(c *C) any { return c.Partitions }, take: sets(func(c *C, f *smFlags) { f.parts = c.Partitions })},
		{name: "allow_both_pkeys", value: func(c *C) any { return c.AllowBothPKeys }, take: sets(func(c *C, f *smFlags) { f.partOptions.AllowBoth = c.AllowBothPKeys })},
		{name: "routing_engine", flag: "unicast", value: func(c *C) any { return strings.Join(c.Engines, ",") }, take: takeEngines},
		{name: "root_guid_file", flag: "roots", value: func(c *C) any { return c.RootGUIDs }, take: sets(func(c *C, f *smFlags) { f.files.roots = c.RootGUIDs })},
		{name: "use_ucast_cache", value: func(c *C) any { return c.UseUcastCache }, advice: "what did not change is not written in any case"},
		{name: "use_mfttop", value: func(c *C) any { return c.UseMFTTop }, advice: "it is used where switches have it"},
		{name: "disable_multicast", value: func(c *C) any { return c.DisableMulticast }, advice: "there is multicast"},
		{name: "consolidate_ipv6_snm_req", flag: "share-mlids", fixed: true, value: func(c *C) any { return c.ConsolidateIPv6SNM }, take: sets(func(c *C, f *smFlags) { f.share = "ipv6" })},
		{name: "qos", flag: "qos", value: func(c *C) any { return c.QoS }, take: sets(func(c *C, f *smFlags) { f.qos = c.QoS })},
	}
}

// managerOptions are about the manager, its sweeps and the others.
func managerOptions() []confOption {
	type C = opensm.Config
	return []confOption{
		{name: "guid", flag: "port", fixed: true, value: func(c *C) any { return c.GUID }, take: takeGUID},
		{name: "sm_key", flag: "sm-key", value: func(c *C) any { return c.SMKey }, take: sets(func(c *C, f *smFlags) { f.smKey = uint64(c.SMKey) })},
		{name: "sa_key", fixed: true, value: func(c *C) any { return c.SAKey }, take: sets(func(c *C, f *smFlags) { f.base.SAKey = c.SAKey })},
		{name: "sm_priority", flag: "priority", value: func(c *C) any { return c.Priority }, take: sets(func(c *C, f *smFlags) { f.priority = c.Priority })},
		{name: "sminfo_polling_timeout", fixed: true, value: func(c *C) any { return c.PollInterval }, take: sets(func(c *C, f *smFlags) { f.base.Poll = c.PollInterval })},
		{name: "polling_retry_number", fixed: true, value: func(c *C) any { return c.PollRetries }, take: sets(func(c *C, f *smFlags) { f.base.Polls = c.PollRetries })},
		{name: "ignore_other_sm", value: func(c *C) any { return c.IgnoreOtherSMs }, advice: "two masters are never right"},
		{name: "sweep_interval", flag: "interval", value: func(c *C) any { return c.SweepInterval }, take: sets(func(c *C, f *smFlags) {
			if f.interval = c.SweepInterval; f.interval == 0 {
				f.interval = -1 // never
			}
		})},
		{name: "sweep_on_trap", value: func(c *C) any { return c.SweepOnTrap }, advice: "traps are followed by sweeps"},
		{name: "force_heavy_sweep", value: func(c *C) any { return c.ForceHeavySweep }, advice: "the whole subnet is looked at when something changed"},
		{name: "max_wire_smps", flag: "window", value: func(c *C) any { return c.MaxWireSMPs }, take: sets(func(c *C, f *smFlags) {
			if f.window = c.MaxWireSMPs; f.window == 0 {
				f.window = unlimitedWindow
			}
		})},
		{name: "transaction_timeout", flag: "timeout", value: func(c *C) any { return c.TransactionTimeout }, take: sets(func(c *C, f *smFlags) { f.port.timeout = c.TransactionTimeout })},
		{name: "transaction_retries", flag: "retries", value: func(c *C) any { return c.TransactionRetries }, take: sets(func(c *C, f *smFlags) { f.port.retries = c.TransactionRetries })},
		{name: "no_clients_rereg", value: func(c *C) any { return c.NoReregister }, take: sets(func(c *C, f *smFlags) { f.base.NoReregister = c.NoReregister })},
		{name: "babbling_port_policy", flag: "babbling-port-policy", fixed: true, value: func(c *C) any { return c.BabblingPortPolicy }, take: sets(func(c *C, f *smFlags) { f.babbling = c.BabblingPortPolicy })},
		{name: "drop_event_subscriptions", value: func(c *C) any { return c.DropSubscriptions }, advice: "those of ports that went stay"},
		{name: "sm_inactive", value: func(c *C) any { return c.Inactive }, take: func(*C, *smFlags) (string, error) {
			return "", errors.New("a manager that is not to act should not be started")
		}},
	}
}

// unlimitedWindow is more than the kernel lets be outstanding.
const unlimitedWindow = 128

// fileOptions are about files and logs.
func fileOptions() []confOption {
	type C = opensm.Config
	return []confOption{
		{name: "log_file", flag: "log-file", fixed: true, value: func(c *C) any { return c.LogFile }, take: sets(func(c *C, f *smFlags) {
			if f.log.file = c.LogFile; c.LogFile == "stdout" || c.LogFile == "stderr" || c.LogFile == "syslog" {
				f.log.file = ""
			}
		})},
		{name: "log_flags", flag: "log-level", fixed: true, value: func(c *C) any { return c.LogFlags }, take: sets(takeLogFlags)},
		{name: "log_max_size", value: func(c *C) any { return c.LogMaxSize }, advice: "logrotate does it, with SIGUSR1"},
		{name: "dump_files_dir", flag: "dump-dir", value: func(c *C) any { return c.DumpDir }, take: sets(func(c *C, f *smFlags) {
			f.files.dumps, f.files.routing = c.DumpDir, c.LogFlags&opensm.LogRouting != 0
		})},
		{name: "fsync_high_avail_files", value: func(c *C) any { return c.FsyncPersistentData }, advice: "what is kept is always written through"},
		{name: "node_name_map_name", value: func(c *C) any { return c.NodeNames }, advice: "nodes are called by their descriptions"},
	}
}

func takeLogFlags(c *opensm.Config, f *smFlags) {
	switch {
	case c.LogFlags&(opensm.LogVerbose|opensm.LogDebug|opensm.LogFrames) != 0:
		f.log.level = "debug"
	case c.LogFlags&opensm.LogInfo == 0:
		f.log.level = "warn"
	}
}

func otherOptions() []confOption {
	type C = opensm.Config
	return []confOption{
		{name: "daemon", value: func(c *C) any { return c.Daemon }, advice: "heddle sm stays in the foreground; systemd starts it with packaging/systemd/heddle-sm.service"},
		{name: "console", value: func(c *C) any { return c.Console }, advice: "heddle sm status, resweep, reroute, groups and dump are the console"},
		{name: "console_port", value: func(c *C) any { return c.ConsolePort }, advice: "heddle sm has a socket file, see --ctl"},
	}
}

// qosOptions are about the lanes of links.
func qosOptions() (list []confOption) {
	standard := opensm.DefaultConfig()
	for _, name := range slices.Sorted(maps.Keys(standard.QoSKinds.Values())) {
		list = append(list, confOption{
			name:  name,
			value: func(c *opensm.Config) any { return c.QoSKinds.Values()[name] },
			take: func(c *opensm.Config, f *smFlags) (note string, err error) {
				if f.lanes = c.QoSKinds.Rules(); !f.qos {
					note = "has no effect without qos"
				}
				return note, nil
			},
		})
	}
	return list
}

// takeEngines takes those of OpenSM's engines that heddle has too, and minhop
// after them, as OpenSM does.
func takeEngines(c *opensm.Config, f *smFlags) (note string, err error) {
	ours := map[string]string{"updn": "updown", "minhop": "minhop"}
	var engines, missing []string
	for _, name := range c.Engines {
		if engine, ok := ours[name]; ok {
			engines = append(engines, engine)
		} else if name != "no_fallback" {
			missing = append(missing, name)
		}
	}
	if len(engines) > 0 {
		f.engines = engines
		if engines[len(engines)-1] != "minhop" {
			f.engines = append(f.engines, "minhop")
		}
	}
	if len(missing) == 0 {
		return "", nil
	}
	return fmt.Sprintf("is not all there is: heddle has no %s; it uses %s", strings.Join(missing, ", "), strings.Join(f.engines, ", ")), nil
}

// takeGUID finds the port of this machine that has a GUID.
func takeGUID(c *opensm.Config, f *smFlags) (string, error) {
	ports, err := umad.ListDevices()
	if err != nil {
		return "", err
	}
	if spec, ok := portOfGUID(ports, c.GUID); ok {
		f.port.spec = spec
		return "", nil
	}
	return "", fmt.Errorf("no port of this machine has this GUID: %w", umad.ErrNoDevice)
}

func portOfGUID(ports []umad.LinuxPort, guid ib.GUID) (spec string, ok bool) {
	for i := range ports {
		if ports[i].PortGUID == guid {
			return "umad:" + ports[i].Name, true
		}
	}
	return "", false
}
