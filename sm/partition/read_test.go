package partition_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/ib"
	"heddle/sm/partition"
)

// read reads a text and gives its faults as text.
func read(t testing.TB, text string, o partition.Options) (*partition.Config, []string) {
	t.Helper()
	c, faults, err := partition.Read(strings.NewReader(text), o)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, f := range faults {
		list = append(list, f.Error())
	}
	return c, list
}

// The ports of the tests.
var (
	own     = partition.Port{GUID: 1, Own: true}
	adapter = partition.Port{GUID: 2}
	other   = partition.Port{GUID: 3}
	aSwitch = partition.Port{GUID: 4, Kind: partition.Switch}
	router  = partition.Port{GUID: 5, Kind: partition.Router}
	virtual = partition.Port{GUID: 6, Kind: partition.VirtualAdapter}
)

// keys are those of ports, each as a list that begins with that of index 0.
func keys(c *partition.Config, ports ...partition.Port) (list []string) {
	for _, p := range ports {
		k := c.Resolve(p)
		words := []string{fmt.Sprintf("%04x", uint16(k.First))}
		for _, key := range k.Others {
			words = append(words, fmt.Sprintf("%04x", uint16(key)))
		}
		list = append(list, strings.Join(words, " "))
	}
	return list
}

func TestMembers(t *testing.T) {
	all := []partition.Port{own, adapter, other, aSwitch, router, virtual}
	tests := []struct {
		name, text string
		options    partition.Options
		want       []string // own, adapter, other, switch, router, virtual
	}{
		{"others are limited in the default one", "A=0x10:2=full;", partition.Options{}, []string{"ffff", "7fff 8010", "7fff", "7fff", "7fff", "7fff"}},
		{"default by name", "Default:ALL=full;", partition.Options{}, []string{"ffff", "ffff", "ffff", "ffff", "ffff", "ffff"}},
		{"own stays full", "Default=0x7fff:ALL, SELF=limited;", partition.Options{}, []string{"ffff", "7fff", "7fff", "7fff", "7fff", "7fff"}},
		{
			"kinds", "A=0x10:ALL_CAS, ALL_SWITCHES=full; B=17:ALL_ROUTERS=full, ALL_VCAS, SELF=full;",
			partition.Options{},
			[]string{"ffff 0010 8011", "7fff 0010", "7fff 0010", "7fff 8010", "7fff 8011", "7fff 0011"},
		},
		{
			"last one counts", "A=0x10:2=full,ALL,3=full,3=limited; A=0x8010:0x3=full;B=0x11:ALL=full,2;",
			partition.Options{},
			[]string{"ffff 0010 8011", "7fff 0010 0011", "7fff 8010 8011", "7fff 0010 8011", "7fff 0010 8011", "7fff 0010 8011"},
		},
		{
			"defmember", "A=0x10,defmember=full:2,3=limited;A=0x10:1;B=0x11:defmember=full:\n2,3;",
			partition.Options{},
			[]string{"ffff 0010", "7fff 8010 8011", "7fff 0010 8011", "7fff", "7fff", "7fff"},
		},
		{"both is full", "A=0x10:ALL=both;", partition.Options{}, []string{"ffff 8010", "7fff 8010", "7fff 8010", "7fff 8010", "7fff 8010", "7fff 8010"}},
		{
			"both", "A=0x10,defmember=both:ALL,SELF=limited,3=full;Default=0x7fff:2=both;",
			partition.Options{AllowBoth: true},
			[]string{"ffff 0010", "7fff 0010 8010 ffff", "7fff 8010", "7fff 0010 8010", "7fff 0010 8010", "7fff 0010 8010"},
		},
		{"index 0", "A=0x10,indx0:2=full;B=0x11:ALL;", partition.Options{}, []string{"ffff 0011", "8010 0011 7fff", "7fff 0011", "7fff 0011", "7fff 0011", "7fff 0011"}},
		{
			"P_Keys are found", "A:ALL;=0x2:SELF;,defmember=full:2;",
			partition.Options{},
			[]string{"ffff 0001 0002", "7fff 0001 8003", "7fff 0001", "7fff 0001", "7fff 0001", "7fff 0001"},
		},
		{
			"comments and space", "\ufeff# a\r\n A = 0x10 # : 3;\r\n : # ,3\r\n\t2 = full ,\r\n 1\r\n;;# end",
			partition.Options{},
			[]string{"ffff 0010", "7fff 8010", "7fff", "7fff", "7fff", "7fff"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c, faults := read(t, test.text, test.options)
			if diff := cmp.Diff(test.want, keys(c, all...)); diff != "" || len(faults) > 0 {
				t.Errorf("faults %q, keys (-want +got):\n%s", faults, diff)
			}
		})
	}
}

func TestDefault(t *testing.T) {
	empty, faults := read(t, "# nothing\n", partition.Options{Name: "p.conf"})
	if diff := cmp.Diff([]string{"p.conf:2:1: no partition is defined: the default one has all ports as full members, as without a file"}, faults); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
	want := []partition.Group{{MGID: ib.MustParseMGID("ff12:401b:ffff::ffff:ffff"), PKey: ib.DefaultPKey, QKey: 0xB1B, MTU: ib.MTU2048, Rate: ib.Rate10}}
	for _, c := range []*partition.Config{empty, partition.Default()} {
		if diff := cmp.Diff([]string{"ffff", "ffff"}, keys(c, own, aSwitch)); diff != "" {
			t.Errorf("keys (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(want, c.Groups()); diff != "" {
			t.Errorf("groups (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]partition.Partition{{Name: "Default", Base: 0x7fff}}, c.Partitions()); diff != "" {
			t.Errorf("partitions (-want +got):\n%s", diff)
		}
	}
}

// TestSizesAndCodes: what is a size or a speed, and what is a code.
func TestSizesAndCodes(t *testing.T) {
	tests := []struct {
		text  string
		mtu   ib.MTU
		rate  ib.Rate
		fault string
	}{
		{"mtu=4096,rate=200", ib.MTU4096, ib.Rate200, ""},
		{"mtu=5,rate=17", ib.MTU4096, ib.Rate200, ""},
		{"MTU=0x400,Rate=200G", ib.MTU1024, ib.Rate200, ""},
		{"mtu = 2048 , rate = 2.5 Gb/s", ib.MTU2048, ib.Rate2_5, ""},
		{"mtu=9", ib.MTU2048, ib.Rate10, `1:18: MTU "9" is out of range: want 256, 512, 1024, 2048 or 4096 bytes, or their codes 1 to 5`},
		{"rate=90", ib.MTU2048, ib.Rate10, `1:19: rate "90" is out of range: want a rate in Gb/s such as 2.5, 100 or 10G, or a code 2 to 24 (a bare number up to 24 is a code)`},
		{"rate=fast", ib.MTU2048, ib.Rate10, `1:19: rate "fast" is malformed: want a rate in Gb/s such as 2.5, 100 or 10G, or a code 2 to 24 (a bare number up to 24 is a code)`},
	}
	for _, test := range tests {
		c, faults := read(t, "A=0x10,ipoib,"+test.text+":ALL;", partition.Options{})
		if got := strings.Join(faults, "\n"); got != test.fault {
			t.Errorf("%s: fault %s, want %s", test.text, got, test.fault)
		}
		if g := c.Groups()[0]; g.MTU != test.mtu || g.Rate != test.rate {
			t.Errorf("%s: MTU %v, rate %v", test.text, g.MTU, g.Rate)
		}
	}
}

// TestFaults: each is told with its place, and what follows is used.
func TestFaults(t *testing.T) {
	tests := []struct {
		name, text string
		want       []string
		keys       string // of adapter
	}{
		{"P_Key", "A=0x18000:ALL=full;B=0x10:ALL;", []string{`1:1: P_Key "0x18000" is out of range: want 0x0001 to 0xffff, but not 0x8000: the partition is left out`}, "7fff 0010"},
		{"no members", "A=0x10 ALL;\nB=0x10:ALL;", []string{"1:1: no : between a partition and its members"}, "7fff 0010"},
		{"no partition", "A=0x10:ALL;\n :ALL;", []string{"2:2: no name and no P_Key before the colon: the partition is left out"}, "7fff 0010"},
		{"no end", "A=0x10:ALL=full\nB=0x11,defmember=full:2\n", []string{"2:1: no ; between two partitions", "3:1: no ; at the end of a partition"}, "7fff 8010 8011"},
		{"member", "A=0x10:\n ALL_HOSTS=full, 0002c90300001234, 0, 0x1_0, 2;", []string{
			`2:2: member "ALL_HOSTS": ` + memberForm, `2:18: member "0002c90300001234": ` + memberForm, `2:36: member "0": ` + memberForm, `2:39: member "0x1_0": ` + memberForm,
		}, "7fff 0010"},
		{"membership", "A=0x10,defmember=Full:2;B=0x11:2=limi;", []string{
			`1:18: membership "Full": want full, limited or both; it is limited`, `1:34: membership "limi": want full, limited or both; it is limited`,
		}, "7fff 0010 0011"},
		{"no membership", "A=0x10,defmember:2=;", []string{`1:8: membership "": want full, limited or both; it is limited`}, "7fff 0010"},
		{"flag", "A=0x10,ipoob:2;", []string{`1:8: "ipoob": want indx0, ipoib, defmember, rate, mtu, sl, scope, Q_Key, TClass or FlowLabel`}, "7fff 0010"},
		{"index 0 twice", "A=0x10,indx0:2;B=0x11,indx0:2;", []string{"1:8: partition 0x0010 wants index 0 as well as 0x0011, which has it where a port is in both"}, "0011 0010 7fff"},
		{"found P_Key named", "A:2;\nB=1:2=full;", []string{`2:1: P_Key 0x0001 was given to partition "A", which names none: they are one now`}, "7fff 8001"},
		{"numbers", "A=0x10,sl=16,scope=15,Q_Key=x,TClass=256,FlowLabel=0x100000:2;", []string{
			`1:11: SL "16" is out of range: want 0 to 15`, `1:20: scope "15": want 1 to 14`,
			`1:29: Q_Key "x" is malformed: want 0 to 0xffffffff`, `1:38: TClass "256": want 0 to 0xff`, `1:52: FlowLabel "0x100000": want 0 to 0xfffff`,
		}, "7fff 0010"},
		{"sl without qos", "A=0x10,sl=1:2;", []string{"1:8: a partition's service level counts with qos only: the groups that name none have level 0"}, "7fff 0010"},
		{"group outside", "mgid=ff12::1\nA=0x10:2;", []string{"1:1: a group outside of a partition"}, "7fff 0010"},
		{"no group", "A=0x10:mgid=fe80::1\nmgid=\n2;", []string{
			`1:13: MGID "fe80::1" is out of range: want a multicast address, ff00::/8, in the form of an IPv6 address without zone: the group is left out`,
			`2:6: MGID "" is malformed: want a multicast address, ff00::/8, in the form of an IPv6 address without zone: the group is left out`,
		}, "7fff 0010"},
		{"members on a group's line", "A=0x10:mgid=ff12::1, ALL\n2;", []string{`1:22: "ALL" is no parameter of a group: members stand on a line of their own`}, "7fff 0010"},
		{"group of IP", "A=0x10,ipoib:mgid=ff12:401b:11::1\nmgid=ff12:401b::1,mtu=1\nmgid=ff12:601b::1,scope=5\nmgid=ff15::1\n2;", []string{
			"1:19: group ff12:401b:11::1 has a P_Key in its address that is not the partition's 0x8010: it is left out",
			"2:6: group ff12:401b:8010::1 is of IP, and its MTU or rate is not that of the broadcast group, 2048 bytes and 10 Gb/s: it is left out",
			"3:6: group ff15:601b:8010::1 is of IP, and the partition has no broadcast group ff15:401b:8010::ffff:ffff (ipoib): it is left out",
			"4:6: no scope is named, so that the group is link-local and not site-local as its address says",
		}, "7fff 0010"},
		{"group twice", "A=0x10:mgid=ff12::1\nmgid=ff12::1\nmgid=ff12::1,mtu=1\n2;", []string{"3:6: group ff12::1 is defined before, with other parameters, which it keeps"}, "7fff 0010"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c, faults := read(t, test.text, partition.Options{})
			if diff := cmp.Diff(test.want, faults); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
			if got := keys(c, adapter)[0]; got != test.keys {
				t.Errorf("keys %s, want %s", got, test.keys)
			}
		})
	}
}

const memberForm = "want a port GUID as 0x and hexadecimal digits, or as a decimal number, or ALL, ALL_CAS, ALL_SWITCHES, ALL_ROUTERS, ALL_VCAS or SELF"
