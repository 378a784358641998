package opensm

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"heddle/ib"
)

// options says how the value of each option is taken into c.
func (c *Config) options() map[string]func(string) error {
	options := map[string]func(string) error{
		"guid":                        parsed(&c.GUID, ib.ParseGUID),
		"m_key":                       integer(&c.MKey, 0, maxUint64),
		"m_key_lease_period":          integer(&c.MKeyLease, 0, 0xFFFF),
		"m_key_protection_level":      integer(&c.MKeyProtect, 0, 3),
		"sm_key":                      integer(&c.SMKey, 0, maxUint64),
		"sa_key":                      integer(&c.SAKey, 0, maxUint64),
		"subnet_prefix":               integer(&c.SubnetPrefix, 1, maxUint64),
		"lmc":                         integer(&c.LMC, 0, 7),
		"lmc_esp0":                    boolean(&c.LMCPort0),
		"sm_sl":                       integer(&c.SMSL, 0, 15),
		"subnet_timeout":              integer(&c.SubnetTimeout, 0, 31),
		"packet_life_time":            integer(&c.PacketLifetime, 0, 31),
		"head_of_queue_lifetime":      integer(&c.HOQLife, 0, 31),
		"leaf_head_of_queue_lifetime": integer(&c.LeafHOQLife, 0, 31),
		"vl_stall_count":              integer(&c.VLStallCount, 1, 7),
		"leaf_vl_stall_count":         integer(&c.LeafVLStallCount, 1, 7),
		"max_op_vls":                  integer(&c.MaxVLs, 1, 5),
		"local_phy_errors_threshold":  integer(&c.PhyErrors, 0, 15),
		"overrun_errors_threshold":    integer(&c.OverrunErrors, 0, 15),
		"force_link_speed":            integer(&c.LinkSpeed, 0, 15),
		"force_link_speed_ext":        integer(&c.LinkSpeedExt, 0, 31),
		"force_link_width":            integer(&c.LinkWidth, 0, 255),
		"use_mfttop":                  boolean(&c.UseMFTTop),
		"partition_config_file":       text(&c.Partitions),
		"allow_both_pkeys":            boolean(&c.AllowBothPKeys),
		"sweep_interval":              duration(&c.SweepInterval, 0, time.Second),
		"reassign_lids":               boolean(&c.ReassignLIDs),
		"force_heavy_sweep":           boolean(&c.ForceHeavySweep),
		"sweep_on_trap":               boolean(&c.SweepOnTrap),
		"routing_engine":              words(&c.Engines),
		"root_guid_file":              text(&c.RootGUIDs),
		"use_ucast_cache":             boolean(&c.UseUcastCache),
		"sm_priority":                 integer(&c.Priority, 0, 15),
		"ignore_other_sm":             boolean(&c.IgnoreOtherSMs),
		"sminfo_polling_timeout":      duration(&c.PollInterval, 1, time.Millisecond),
		"polling_retry_number":        integer(&c.PollRetries, 1, maxInt),
		"honor_guid2lid_file":         boolean(&c.HonorLIDsFile),
		"max_wire_smps":               integer(&c.MaxWireSMPs, 0, maxInt),
		"transaction_timeout":         duration(&c.TransactionTimeout, 1, time.Millisecond),
		"transaction_retries":         integer(&c.TransactionRetries, 0, maxInt),
		"daemon":                      boolean(&c.Daemon),
		"sm_inactive":                 boolean(&c.Inactive),
		"babbling_port_policy":        boolean(&c.BabblingPortPolicy),
		"drop_event_subscriptions":    boolean(&c.DropSubscriptions),
		"log_flags":                   integer(&c.LogFlags, 0, 0xFF),
		"log_file":                    text(&c.LogFile),
		"log_max_size":                integer(&c.LogMaxSize, 0, maxInt),
		"dump_files_dir":              text(&c.DumpDir),
		"no_clients_rereg":            boolean(&c.NoReregister),
		"disable_multicast":           boolean(&c.DisableMulticast),
		"console":                     oneOf(&c.Console, "off", "local", "loopback", "socket"),
		"console_port":                integer(&c.ConsolePort, 1, 0xFFFF),
		"qos":                         boolean(&c.QoS),
		"consolidate_ipv6_snm_req":    boolean(&c.ConsolidateIPv6SNM),
		"node_name_map_name":          text(&c.NodeNames),
		"fsync_high_avail_files":      boolean(&c.FsyncPersistentData),
	}
	maps.Copy(options, c.QoSKinds.options())
	return options
}

const (
	maxInt    = 1<<31 - 1
	maxUint64 = 1<<64 - 1
)

func parsed[T any](v *T, parse func(string) (T, error)) func(string) error {
	return func(s string) error {
		got, err := parse(s)
		if err == nil {
			*v = got
		}
		return err
	}
}

// integer takes a decimal number, or a hexadecimal one after 0x.
func integer[T ~uint8 | ~uint16 | ~uint64 | ~int](v *T, least, most uint64) func(string) error {
	return func(s string) error {
		digits, base := s, 10
		if len(s) > 1 && strings.EqualFold(s[:2], "0x") {
			digits, base = s[2:], 16
		}
		n, err := strconv.ParseUint(digits, base, 64)
		if err != nil || n < least || n > most {
			return fmt.Errorf("want a number from %d to %d", least, most)
		}
		*v = T(n)
		return nil
	}
}

func boolean(v *bool) func(string) error {
	return func(s string) error {
		switch strings.ToUpper(s) {
		case "TRUE", "YES", "1":
			*v = true
		case "FALSE", "NO", "0":
			*v = false
		default:
			return errors.New("want TRUE or FALSE")
		}
		return nil
	}
}

func duration(v *time.Duration, least uint64, unit time.Duration) func(string) error {
	return func(s string) error {
		n := 0
		if err := integer(&n, least, maxInt)(s); err != nil {
			return err
		}
		*v = time.Duration(n) * unit
		return nil
	}
}

func text(v *string) func(string) error {
	return func(s string) error { *v = s; return nil }
}

// words takes a list with commas or space between.
func words(v *[]string) func(string) error {
	return func(s string) error {
		*v = nil
		for word := range strings.FieldsFuncSeq(s, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' }) {
			*v = append(*v, word)
		}
		return nil
	}
}

func oneOf(v *string, choices ...string) func(string) error {
	return func(s string) error {
		if !slices.Contains(choices, s) {
			return fmt.Errorf("want one of %s", strings.Join(choices, ", "))
		}
		*v = s
		return nil
	}
}
