package emu_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"heddle/emu"
	"heddle/fabric"
	"heddle/internal/testenv"
	"heddle/umad"
)

// TestMKeyOfOpenSM: ports that OpenSM gave a key answer whoever knows it, and
// nobody else.
func TestMKeyOfOpenSM(t *testing.T) {
	f := generate(t, "single:hosts=3")
	s, sm := broughtUp(t, f, emu.Config{}, "m_key 0x1234", "m_key_protection_level 2", "m_key_lease_period 60")
	lid := s.lid(t, "host-2").String()
	out, err := testenv.TryDiag(t, s.name, "", "smpquery", "nodedesc", lid)
	if err == nil {
		t.Errorf("answered without the key:\n%s", out)
	}
	s.ask(t, "smpquery -y 0x1234 -K %s "+lid, []query{
		{"nodedesc", []string{"Node Description: host-2"}},
		{"portinfo", []string{"Mkey: 0x0000000000001234", "ProtectBits: 2", "MkeyLeasePeriod: 60"}},
	})
	checkLog(t, sm.Log())
}

// TestQoSOfOpenSM: the tables of service levels and lanes hold what OpenSM
// writes.
func TestQoSOfOpenSM(t *testing.T) {
	f := generate(t, "single:hosts=3")
	s, sm := broughtUp(t, f, emu.Config{}, "qos TRUE", "max_op_vls 3", "qos_max_vls 4", "qos_high_limit 5",
		"qos_vlarb_high 0:1,1:2,2:3,3:4", "qos_vlarb_low 0:4,1:3,2:2,3:1", "qos_sl2vl 3,2,1,0,3,2,1,0,3,2,1,0,3,2,1,0")
	sw := s.lid(t, f.Node(f.Switches()[0]).ID).String()
	lanes := strings.Repeat("| 3| 2| 1| 0", 4) + "|"
	s.ask(t, "smpquery %s "+sw, []query{
		{"sl2vl 2", []string{"ports: in  1, out  2: " + lanes, "ports: in  3, out  2: " + lanes}},
		{"portinfo 2", []string{"OperVLs: VL0-3", "VLHighLimit: 5"}},
		{"vlarb 2", []string{
			"WEIGHT: |0x4 |0x3 |0x2 |0x1 " + strings.Repeat("|0x0 ", 28) + "|",
			"WEIGHT: |0x1 |0x2 |0x3 |0x4 " + strings.Repeat("|0x0 ", 28) + "|",
		}},
	})
	checkLog(t, sm.Log())
}

// TestPartitionsOfOpenSM: ports hold the keys of their partitions.
func TestPartitionsOfOpenSM(t *testing.T) {
	f := generate(t, "single:hosts=3")
	conf := filepath.Join(t.TempDir(), "partitions.conf")
	text := fmt.Sprintf("Default=0x7fff, defmember=full : ALL=limited, SELF=full;\nBlue=0x0012 : SELF=full, %v=full, %v=limited;\n",
		f.Port(f.EndPorts()[1]).GUID, f.Port(f.EndPorts()[2]).GUID)
	if err := os.WriteFile(conf, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	s, sm := broughtUp(t, f, emu.Config{}, "partition_config_file "+conf, "part_enforce both")
	for node, keys := range map[string]string{"host-0": "0xffff 0x8012", "host-1": "0x7fff 0x8012", "host-2": "0x7fff 0x0012"} {
		lid := s.lid(t, node).String()
		s.ask(t, "smpquery %s "+lid, []query{{"pkeys", []string{"0: " + keys + strings.Repeat(" 0x0000", 6)}}})
	}
	out := s.diag(t, "smpquery", "pkeys", s.lid(t, f.Node(f.Switches()[0]).ID).String(), "3")
	if !strings.Contains(out, "0x0012") {
		t.Errorf("the switch does not enforce the key of host-2:\n%s", out)
	}
	checkLog(t, sm.Log())
}

// TestBabblingPortOfOpenSM: OpenSM switches a port off that tells of errors
// without end, by traps 129 to 131.
func TestBabblingPortOfOpenSM(t *testing.T) {
	f := generate(t, "single:hosts=3")
	s, sm := broughtUp(t, f, emu.Config{}, "babbling_port_policy TRUE", noSweep)
	e := fabric.End{Node: f.Switches()[0], Port: 3}
	if err := s.Do(func(sub *emu.Subnet) error { return sub.Babble(e, time.Millisecond) }); err != nil {
		t.Fatal(err)
	}
	sw := s.lid(t, f.Node(e.Node).ID).String()
	eventually(t, func() string {
		out := s.diag(t, "smpquery", "portinfo", sw, "3")
		if !strings.Contains(out, "Disabled") {
			return out + sm.Log()
		}
		return ""
	})
}

// TestRemoteMode: programs and our own client attach by UDP.
func TestRemoteMode(t *testing.T) {
	f := generate(t, "single:hosts=3")
	live := start(t, f, emu.Config{})
	addr := freePorts(t)
	server, err := live.ServeUDP(addr, emu.ServeConfig{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Setenv("IBSIM_SERVER_NAME", "127.0.0.1")
	t.Setenv("IBSIM_SERVER_PORT", fmt.Sprint(addr.Port))
	s := &served{Live: live, server: server, fabric: f}
	sm := testenv.StartOpenSM(t, "", "host-1")
	sm.WaitSubnetUp(t)
	s.checkFound(t)
	d, err := umad.OpenIBSimUDP(addr.String(), "host-2")
	if err != nil {
		t.Fatal(err)
	}
	p := umad.NewPort(d)
	if err := s.talk(t, p, "host-2", "host-0"); err != nil {
		t.Error(err)
	}
	if n := server.Clients(); n != 2 {
		t.Errorf("%d clients are attached, want 2", n)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	checkLog(t, sm.Log())
}

// freePorts is an address that nobody uses, nor the ports after it.
func freePorts(t *testing.T) *net.UDPAddr {
	t.Helper()
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	return conn.LocalAddr().(*net.UDPAddr)
}
