package partition_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/ib"
	"heddle/sm/partition"
)

// groups are those of a configuration as text.
func groups(c *partition.Config) (list []string) {
	for _, g := range c.Groups() {
		list = append(list, groupText(g))
	}
	return list
}

func groupText(g partition.Group) string {
	return fmt.Sprintf("%v %v Q_Key %v MTU %v rate %v SL %v TClass %d flow %#x hops %d",
		g.MGID, g.PKey, g.QKey, g.MTU, g.Rate, g.SL, g.TClass, g.FlowLabel, g.HopLimit)
}

func TestGroups(t *testing.T) {
	const plain = " 0x8010 Q_Key 0x00000000 MTU 2048 rate 10 Gb/s SL 0 TClass 0 flow 0x0 hops 0"
	const ip = " 0x8010 Q_Key 0x00000b1b MTU 2048 rate 10 Gb/s SL 0 TClass 0 flow 0x0 hops 0"
	tests := []struct {
		name, text string
		options    partition.Options
		want       []string
	}{
		{"none", "A=0x10:ALL;", partition.Options{}, nil},
		{"broadcast", "A=0x10,ipoib:ALL;", partition.Options{}, []string{"ff12:401b:8010::ffff:ffff" + ip}},
		{"broadcast by its address", "A=0x10:mgid=ff12:401b::1\nmgid=ff12:401b::ffff:ffff\nALL;", partition.Options{}, []string{
			"ff12:401b:8010::ffff:ffff" + ip, "ff12:401b:8010::1" + ip,
		}},
		{"broadcast in scopes", "A=0x10,ipoib,scope=5,scope=0xe:ALL;", partition.Options{}, []string{
			"ff12:401b:8010::ffff:ffff" + ip, "ff15:401b:8010::ffff:ffff" + strings.TrimSuffix(ip, "0") + "255", "ff1e:401b:8010::ffff:ffff" + strings.TrimSuffix(ip, "0") + "255",
		}},
		{"plain ones", "A=0x10:mgid=ff12::1,Q_Key=0xDEADBEEF,sl=3,rate=3,mtu=2,TClass=4,FlowLabel=5 # a group\n  mgid=ff02::2\nALL,mgid=ff12::3;", partition.Options{}, []string{
			"ff12::1 0x8010 Q_Key 0xdeadbeef MTU 512 rate 10 Gb/s SL 3 TClass 4 flow 0x5 hops 0", "ff02::2" + plain, "ff12::3" + plain,
		}},
		{"taken over", "A=0x10,Q_Key=5,rate=4,mtu=3,FlowLabel=6,TClass=7,scope=2,scope=5:mgid=ff12::8\n mgid=ff12::9,rate=100,scope=8\n ALL=full;", partition.Options{}, []string{
			"ff12::8 0x8010 Q_Key 0x00000005 MTU 1024 rate 30 Gb/s SL 0 TClass 0 flow 0x6 hops 0",
			"ff15::8 0x8010 Q_Key 0x00000005 MTU 1024 rate 30 Gb/s SL 0 TClass 0 flow 0x6 hops 255",
			"ff12::9 0x8010 Q_Key 0x00000005 MTU 1024 rate 100 Gb/s SL 0 TClass 0 flow 0x6 hops 0",
			"ff15::9 0x8010 Q_Key 0x00000005 MTU 1024 rate 100 Gb/s SL 0 TClass 0 flow 0x6 hops 255",
			"ff18::9 0x8010 Q_Key 0x00000005 MTU 1024 rate 100 Gb/s SL 0 TClass 0 flow 0x6 hops 255",
		}},
		{"service level with qos", "A=0x10,ipoib,sl=3:mgid=ff12::1,sl=2\nmgid=ff12:601b:10::2;", partition.Options{QoS: true}, []string{
			"ff12:401b:8010::ffff:ffff 0x8010 Q_Key 0x00000b1b MTU 2048 rate 10 Gb/s SL 3 TClass 0 flow 0x0 hops 0",
			"ff12::1 0x8010 Q_Key 0x00000000 MTU 2048 rate 10 Gb/s SL 2 TClass 0 flow 0x0 hops 0",
			"ff12:601b:8010::2 0x8010 Q_Key 0x00000b1b MTU 2048 rate 10 Gb/s SL 3 TClass 0 flow 0x0 hops 0",
		}},
		{"of IP, before and with the broadcast group", "A=0x10:mgid=ff12:401b::1,Q_Key=4,TClass=3\nALL;A=0x10,ipoib,mtu=4096,rate=200,TClass=9:ALL;", partition.Options{}, []string{
			"ff12:401b:8010::ffff:ffff 0x8010 Q_Key 0x00000b1b MTU 4096 rate 200 Gb/s SL 0 TClass 9 flow 0x0 hops 0",
			"ff12:401b:8010::1 0x8010 Q_Key 0x00000004 MTU 4096 rate 200 Gb/s SL 0 TClass 3 flow 0x0 hops 0",
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c, faults := read(t, test.text, test.options)
			if diff := cmp.Diff(test.want, groups(c)); diff != "" || len(faults) > 0 {
				t.Errorf("faults %q, groups (-want +got):\n%s", faults, diff)
			}
		})
	}
}

// FuzzRead: whatever a file says, every port is in the default partition, the
// manager fully, no P_Key comes twice, and no group but with good parameters.
func FuzzRead(f *testing.F) {
	f.Add("Default=0x7fff,ipoib,rate=4,mtu=3,sl=2,scope=2,scope=5,Q_Key=0xb1c,TClass=3,FlowLabel=7:\n mgid=ff12:401b::0707,sl=1 # random\nALL=full;", true)
	f.Add("A=0x10,indx0,defmember=both:0x1=full,2,ALL_CAS=limited,\nALL_SWITCHES;B:defmember=full:SELF;=2:;,:ALL", true)
	f.Add("A=0x10:ALL\nB=0x11:ALL=full", false)
	f.Fuzz(func(t *testing.T, text string, allowBoth bool) {
		c, faults, err := partition.Read(strings.NewReader(text), partition.Options{AllowBoth: allowBoth})
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Count(text, "\n") + 1
		for _, fault := range faults {
			if fault.Line < 1 || fault.Line > lines || fault.Column < 1 || fault.Text == "" {
				t.Errorf("fault %v of %d lines", fault, lines)
			}
		}
		for _, p := range []partition.Port{own, adapter, aSwitch, router, virtual} {
			checkKeys(t, c.Resolve(p), p.Own, allowBoth)
		}
		seen := map[ib.MGID]bool{}
		for _, g := range c.Groups() {
			if seen[g.MGID] || !g.MGID.IsValid() || !g.PKey.Full() || !g.PKey.IsValid() || !g.MTU.IsValid() || !g.Rate.IsValid() || !g.SL.IsValid() || g.FlowLabel > 0xfffff {
				t.Errorf("group %+v", g)
			}
			seen[g.MGID] = true
		}
	})
}

func checkKeys(t *testing.T, k partition.Keys, isOwn, allowBoth bool) {
	t.Helper()
	seen, inDefault := map[ib.PKey]bool{}, false
	for _, key := range append([]ib.PKey{k.First}, k.Others...) {
		twin := key ^ 0x8000
		if !key.IsValid() || seen[key] || seen[twin] && !allowBoth {
			t.Errorf("keys %v", k)
		}
		seen[key] = true
		inDefault = inDefault || key == ib.DefaultPKey || key.Base() == partition.DefaultBase && !isOwn
	}
	if !inDefault {
		t.Errorf("keys %v are not of the default partition", k)
	}
}
