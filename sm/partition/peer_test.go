package partition_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/emu"
	"heddle/fabric/topology"
	"heddle/ib"
	"heddle/internal/testenv"
	"heddle/mad"
	"heddle/sm/partition"
	"heddle/sm/subnet"
	"heddle/umad"
)

// TestLikeOpenSM lets OpenSM 3.3.23 program a subnet from files, and compares
// the P_Keys of the ports and the groups with what is read from the same files.
func TestLikeOpenSM(t *testing.T) {
	testenv.Peer(t, "opensm")
	const first, second = "0x0200000200000001", "0x0200000200000011" // of single:hosts=4
	tests := []struct {
		name, text string
		options    partition.Options
	}{
		{"nothing", "", partition.Options{}},
		{"default", "Default=0x7fff,ipoib:ALL=full;", partition.Options{}},
		{"default by name", "Default:ALL=full;", partition.Options{}},
		{"default for few", "Default=0x7fff:SELF=full;A=0x10:ALL=full;", partition.Options{}},
		{"P_Keys are found", "A : ALL=full;\nB : ALL;\nC,ipoib : SELF=full;,defmember=full:ALL;", partition.Options{}},
		{"kinds", "A=0x10:ALL_CAS=full,ALL_SWITCHES=limited;B=0x11:ALL_ROUTERS;C=0x12:ALL_SWITCHES=full;", partition.Options{}},
		{"last one counts", "A=0x10:" + first + "=full;A=0x8010:" + first + "=limited;B=0x11:" + first + "=limited," + first + "=full;" +
			"C=0x12:ALL=limited," + second + "=full;D=0x13:" + second + "=full,ALL=limited;E=0x14:" + second + "=full;E=0x14:ALL;" +
			"F=0x15:144115196665790513=full;G=0x16,defmember=full:" + first + ";H=0x17:SELF=full,0x123=full;I=0x18:;", partition.Options{}},
		{"both is full", "A=0x10:ALL=both,SELF=limited;B=0x11:ALL=both,SELF=full;C=0x12:ALL=full,SELF=both;", partition.Options{}},
		{"both", "A=0x10:ALL=both,SELF=limited;B=0x11:ALL=both,SELF=full;C=0x12,defmember=both:ALL=full,SELF;Default=0x7fff:ALL=full;", partition.Options{AllowBoth: true}},
		{"index 0", "X=0x10,defmember=both:ALL;\nY=0x11,indx0:ALL=full;Z=0x8012:ALL_CAS=full, ALL_SWITCHES=full;", partition.Options{}},
		{"index 0 for one", "A=0x10,indx0:" + second + "=full;", partition.Options{}},
		{"groups", "Default=0x7fff,ipoib,rate=4,mtu=3,scope=2,Q_Key=0xb1c,TClass=3,FlowLabel=7:\n" +
			" mgid=ff12:401b::0707,sl=1 # random\n mgid=ff12:601b::16\n mgid=ff12::1,sl=1,Q_Key=0xDEADBEEF,rate=3,mtu=2\n mgid=ff12::2,scope=5,scope=8\n" +
			" mgid=ff12:401b:ffff::99,TClass=9\n ALL=full;\nP=0x9:mgid=ff12::9\n ALL=full;", partition.Options{}},
		{"groups without a broadcast group", "Q=0x8,Q_Key=5,rate=4,mtu=3,FlowLabel=6,TClass=7,sl=3,scope=2,scope=5:mgid=ff12::8\n mgid=ff12::9,sl=2\n ALL=full;", partition.Options{QoS: true}},
		{"groups of IP", "A=0x10,ipoib,rate=3,mtu=4:\nmgid=ff12:401b::1,Q_Key=4\nmgid=ff12:401b::5,TClass=4,FlowLabel=9,rate=3,Q_Key=0xb1b\n" +
			"mgid=ff12:601b:8010::6\nmgid=ff02::8\nmgid=ff12:401b::ffff:ffff\nmgid=ff12::b\nALL=full;", partition.Options{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			config, _ := read(t, test.text, test.options)
			s := program(t, test.text, test.options)
			for _, n := range s.view.Nodes {
				for _, i := range n.Addressed() {
					s.compareKeys(t, config, n, i, !test.options.AllowBoth)
				}
			}
			got, want := s.groups(t), groups(config)
			slices.Sort(want)
			if diff := cmp.Diff(got, want); diff != "" {
				t.Errorf("groups (-OpenSM +ours):\n%s", diff)
			}
		})
	}
}

// programmed is a subnet that OpenSM set up.
type programmed struct {
	port *umad.Port
	view *subnet.View
}

// program has OpenSM set up a subnet from a file.
func program(t *testing.T, text string, o partition.Options) programmed {
	t.Helper()
	f, err := topology.Generate("single:hosts=4")
	if err != nil {
		t.Fatal(err)
	}
	live, err := emu.Start(f, emu.Config{})
	if err != nil {
		t.Fatal(err)
	}
	name := testenv.SocketName(t)
	server, err := live.Serve(name, emu.ServeConfig{})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "partitions.conf")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	words := map[bool]string{false: "FALSE", true: "TRUE"}
	testenv.StartOpenSM(t, name, "", "partition_config_file "+file, "allow_both_pkeys "+words[o.AllowBoth], "qos "+words[o.QoS]).WaitSubnetUp(t)
	dev, err := live.Open("", 0)
	if err != nil {
		t.Fatal(err)
	}
	s := programmed{port: umad.NewPort(dev)}
	t.Cleanup(func() {
		if err := errors.Join(s.port.Close(), server.Close(), live.Close()); err != nil {
			t.Error(err)
		}
	})
	if s.view, err = subnet.Sweep(t.Context(), s.port, subnet.Options{PKeys: true}); err != nil {
		t.Fatal(err)
	}
	return s
}

// compareKeys compares the keys of a port, and which of them is at index 0.
// OpenSM leaves index 0 empty where it allows a port both keys of a partition.
func (s programmed) compareKeys(t *testing.T, c *partition.Config, n *subnet.Node, number uint8, index0 bool) {
	t.Helper()
	facts := partition.Port{GUID: n.Ports[number].GUID, Own: s.view.Own.Node == n.ID}
	if n.IsSwitch() {
		facts.Kind = partition.Switch
	}
	k := c.Resolve(facts)
	table := n.Ports[number].PKeys
	if index0 && table[0] != k.First {
		t.Errorf("%s: OpenSM puts %v at index 0, want %v", n.Label(), table[0], k.First)
	}
	got := slices.DeleteFunc(slices.Clone(table), func(k ib.PKey) bool { return k == 0 })
	want := append([]ib.PKey{k.First}, k.Others...)
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("%s: keys (-OpenSM +ours):\n%s", n.Label(), diff)
	}
}

// groups are those of OpenSM, as groupText writes them, in order. One after
// the other is asked for, as long tables do not come through whole.
func (s programmed) groups(t *testing.T) (list []string) {
	t.Helper()
	own := s.view.Nodes[s.view.Own.Node].Ports[s.view.Own.Port]
	for mlid := ib.FirstMLID; mlid < ib.FirstMLID+16; mlid++ {
		m := &umad.Message{Address: umad.ToLID(own.Info.MasterSMLID), Data: make([]byte, mad.Size)}
		d := m.Datagram()
		d.SetHeader(mad.Header{Class: mad.ClassSA, ClassVersion: 2, Method: mad.MethodGet, Attr: mad.AttrMCMemberRecord})
		d.SetComponentMask(mad.MCMemberRecordMLID)
		mad.MCMemberRecord{MLID: mlid}.AppendTo(d.Data()[:0])
		answer, err := s.port.Call(t.Context(), m, umad.CallOptions{Timeout: time.Second, Retries: 3})
		if err != nil {
			t.Fatal(err)
		}
		var status *umad.StatusError
		if err := answer.StatusError(); errors.As(err, &status) && status.Status == mad.StatusSANoRecords {
			continue
		} else if err != nil {
			t.Fatal(err)
		}
		r, err := mad.ParseMCMemberRecord(answer.Datagram().Data())
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, groupText(partition.Group{
			MGID: r.MGID, PKey: r.PKey, QKey: r.QKey, MTU: r.MTU, Rate: r.Rate, SL: r.SL, TClass: r.TClass, FlowLabel: r.FlowLabel, HopLimit: r.HopLimit,
		}))
	}
	slices.Sort(list)
	return list
}

// TestSizesLikeCodes: what OpenSM makes of a code is what a size means here.
func TestSizesLikeCodes(t *testing.T) {
	testenv.Peer(t, "opensm")
	ours, _ := read(t, "Default=0x7fff,ipoib,mtu=4096,rate=100:ALL=full;", partition.Options{})
	theirs := program(t, "Default=0x7fff,ipoib,mtu=5,rate=16:ALL=full;", partition.Options{}).groups(t)
	if diff := cmp.Diff(theirs, groups(ours)); diff != "" || !strings.Contains(theirs[0], "MTU 4096 rate 100 Gb/s") {
		t.Errorf("groups (-OpenSM +ours):\n%s", diff)
	}
}
