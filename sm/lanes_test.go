package sm_test

import (
	"errors"
	"strings"
	"testing"

	"heddle/emu"
	"heddle/ib"
	"heddle/mad"
	"heddle/sa"
	"heddle/sm"
	"heddle/sm/partition"
	"heddle/sm/plan"
)

// leveled is a configuration whose partition 0x8010 has service level 3, with a
// broadcast group.
func leveled(t *testing.T, cfg *sm.Config) {
	t.Helper()
	text := "Default=0x7fff,ipoib:ALL=full;\nstorage=0x8010,ipoib,sl=3:ALL=full;\n"
	parts, faults, err := partition.Read(strings.NewReader(text), partition.Options{QoS: true})
	if err != nil || len(faults) > 0 {
		t.Fatal(faults, err)
	}
	cfg.PKeys.Partitions = parts
}

// TestLanesAreFree: while all have service level 0, the tables of the lanes cost
// nothing; where others are in use, they are read once, and written where they
// are wrong.
func TestLanesAreFree(t *testing.T) {
	const links, switches, hosts = 48, 20, 16
	tables := 2*links*4 + switches*4*5 + hosts
	tests := []struct {
		name        string
		vls         int
		change      func(cfg *sm.Config)
		read, wrote int
	}{
		{"levels of 0", 15, func(*sm.Config) {}, 0, 0},
		{"a partition's level", 15, func(cfg *sm.Config) { leveled(t, cfg) }, tables, 2*2*links + switches*4*5 + hosts},
		{"always", 15, func(cfg *sm.Config) { cfg.QoS = plan.DefaultQoSRules(); cfg.QoS.Always = true }, tables, 2*2*links + switches*4*5 + hosts},
		{"the devices' mapping is right", 8, func(cfg *sm.Config) { leveled(t, cfg) }, tables, 2 * 2 * links},
		{"one lane", 1, func(cfg *sm.Config) { leveled(t, cfg) }, 0, 0},
	}
	for _, test := range tests {
		cost := func(cfg sm.Config) (first, second *sm.Report) {
			manageWith(t, "fat-tree:k=4", emu.Config{VLs: test.vls}, cfg, func(t *testing.T, m managed) {
				first = m.sweep(t)
				second = m.sweep(t)
			})
			return first, second
		}
		cfg := config(t, 0)
		test.change(&cfg)
		qos := cfg
		plainCfg := cfg
		plainCfg.QoS, plainCfg.PKeys.Partitions = nil, leveless(t, cfg.PKeys.Partitions != nil)
		without, _ := cost(plainCfg)
		first, second := cost(qos)
		if read, wrote := first.Asked-without.Asked, first.Sent-without.Sent; read != test.read || wrote != test.wrote {
			t.Errorf("%s: %d tables read, %d written, want %d and %d", test.name, read, wrote, test.read, test.wrote)
		}
		if second.Sent > 0 || second.Asked > without.Asked {
			t.Errorf("%s: the second sweep asked %d and sent %d", test.name, second.Asked, second.Sent)
		}
	}
}

// leveless is the partitions of leveled without their level; nil for the default.
func leveless(t *testing.T, more bool) *partition.Config {
	t.Helper()
	if !more {
		return nil
	}
	text := "Default=0x7fff,ipoib:ALL=full;\nstorage=0x8010,ipoib:ALL=full;\n"
	parts, _, err := partition.Read(strings.NewReader(text), partition.Options{QoS: true})
	if err != nil {
		t.Fatal(err)
	}
	return parts
}

// TestLevelOfPartition: paths and groups of a partition have its service level.
func TestLevelOfPartition(t *testing.T) {
	runWith(t, "single:hosts=4", emu.Config{}, func(c *sm.Config) { leveled(t, c) }, func(t *testing.T, r running) {
		hosts := r.fabric(t).Adapters()
		a, b := r.info(t, r.fabric(t).Node(hosts[1]).ID), r.info(t, r.fabric(t).Node(hosts[2]).ID)
		c := r.client(t, r.fabric(t).Node(hosts[1]).ID)
		ask := mad.PathRecord{SGID: a.GID(), DGID: b.GID()}
		mask := mad.PathRecordSGID | mad.PathRecordDGID
		for key, level := range map[ib.PKey]ib.SL{0x8010: 3, 0xFFFF: 0} {
			ask.PKey = key
			path, err := sa.Get(t.Context(), c.Client, ask, mask|mad.PathRecordPKey)
			if err != nil || path.SL != level || path.PKey != key {
				t.Errorf("P_Key %v: %+v, %v", key, path, err)
			}
		}
		ask.SL = 3
		paths, err := sa.Query(t.Context(), c.Client, ask, mask|mad.PathRecordSL)
		if err != nil || len(paths) != 0 {
			t.Errorf("level 3 in the default partition: %+v, %v", paths, err)
		}
		broadcast, err := ib.ParseMGID("ff12:401b:8010::ffff:ffff")
		if err != nil {
			t.Fatal(err)
		}
		joined, err := c.Join(t.Context(), mad.MCMemberRecord{MGID: broadcast}, 0)
		if err != nil || joined.SL != 3 {
			t.Errorf("%+v, %v", joined, err)
		}
		if err := errors.Join(c.Leave(t.Context(), joined), c.port.Close()); err != nil {
			t.Error(err)
		}
	})
}
