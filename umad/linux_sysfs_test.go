package umad

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"heddle/ib"
	"heddle/mad"
)

// sysTree is a tree like that of /sys/class, by the lines of its files.
type sysTree map[string]string

func (s sysTree) fs() fs.FS {
	m := fstest.MapFS{}
	for name, line := range s {
		m[name] = &fstest.MapFile{Data: []byte(line + "\n")}
	}
	return m
}

// with is the tree with other files in it; "" takes one away.
func (s sysTree) with(changes sysTree) sysTree {
	all := make(sysTree)
	for _, tree := range []sysTree{s, changes} {
		for name, line := range tree {
			all[name] = line
			if line == "" {
				delete(all, name)
			}
		}
	}
	return all
}

// port is one port with its device files.
func (s sysTree) port(number int, device string, port int, attributes sysTree) sysTree {
	tree := sysTree{"infiniband_mad/abi_version": "5"}
	for _, kind := range []string{"umad", "issm"} {
		dir := fmt.Sprintf("infiniband_mad/%s%d/", kind, number)
		tree[dir+"ibdev"], tree[dir+"port"] = device, fmt.Sprint(port)
	}
	tree["infiniband/"+device+"/node_guid"] = "0002:c903:0000:1230"
	for name, line := range attributes {
		tree[fmt.Sprintf("infiniband/%s/ports/%d/%s", device, port, name)] = line
	}
	return s.with(tree)
}

// hca is a port of InfiniBand as mlx5 shows it, roce one of rdma_rxe, recorded
// on Linux 6.1.
var (
	hca = sysTree{
		"link_layer": "InfiniBand", "lid": "0x11", "lid_mask_count": "1", "sm_lid": "0x3", "sm_sl": "2",
		"cap_mask": "0x2651e848", "state": "4: ACTIVE", "phys_state": "5: LinkUp",
		"gids/0": "fe80:0000:0000:0000:0002:c903:0000:1234", "gids/1": "0000:0000:0000:0000:0000:0000:0000:0000",
		"pkeys/0": "0xffff", "pkeys/1": "0x0000", "pkeys/2": "0x8001", "pkeys/3": "0x0000",
	}
	roce = sysTree{
		"link_layer": "Ethernet", "lid": "0x0", "lid_mask_count": "0", "sm_lid": "0x0", "sm_sl": "0",
		"cap_mask": "0x00010000", "state": "4: ACTIVE", "phys_state": "5: LinkUp",
		"gids/0": "fe80:0000:0000:0000:38a3:e2ff:fe39:b5d0", "pkeys/0": "0xffff",
	}
)

func TestListPorts(t *testing.T) {
	sys := sysTree{}.port(10, "rxe0", 1, roce).port(3, "mlx5_0", 2, hca.with(sysTree{"state": "2: INIT"})).port(2, "mlx5_0", 1, hca)
	got, err := listPorts(sys.fs())
	if err != nil {
		t.Fatal(err)
	}
	first := Info{
		Name: "mlx5_0/1", Device: "mlx5_0", Port: 1, NodeGUID: 0x0002c90300001230, PortGUID: 0x0002c90300001234,
		Prefix: ib.DefaultPrefix, LID: 0x11, LMC: 1, SMLID: 3, SMSL: 2, State: mad.PortActive,
		PKeys: []ib.PKey{0xffff, 0, 0x8001}, Capabilities: 0x2651e848,
	}
	second := first
	second.Name, second.Port, second.State = "mlx5_0/2", 2, mad.PortInit
	want := []LinuxPort{
		{Info: first, Umad: "umad2", IsSM: "issm2", LinkLayer: "InfiniBand"},
		{Info: second, Umad: "umad3", IsSM: "issm3", LinkLayer: "InfiniBand"},
		{Info: Info{
			Name: "rxe0/1", Device: "rxe0", Port: 1, NodeGUID: 0x0002c90300001230, PortGUID: 0x38a3e2fffe39b5d0,
			Prefix: ib.DefaultPrefix, State: mad.PortActive, PKeys: []ib.PKey{0xffff}, Capabilities: 0x10000,
		}, Umad: "umad10", IsSM: "issm10", LinkLayer: "Ethernet"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestListPortsFails(t *testing.T) {
	one := sysTree{}.port(0, "mlx5_0", 1, hca)
	tests := []struct {
		name string
		sys  sysTree
		want string // in the error
	}{
		{"no RDMA device", sysTree{"net/lo": "1"}, "no RDMA device"},
		{"module not loaded", sysTree{"infiniband/mlx5_0/node_guid": "1"}, "modprobe ib_umad"},
		{"another version", one.with(sysTree{"infiniband_mad/abi_version": "6"}), `version "6", want 5`},
		{"no version", one.with(sysTree{"infiniband_mad/abi_version": ""}), "infiniband_mad/abi_version"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ports, err := listPorts(test.sys.fs())
			if !errors.Is(err, ErrNoDevice) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("listPorts = %v, %v, want %q", ports, err, test.want)
			}
		})
	}
}

// TestHostileSysfs damages one file of a port at a time: the port gets a fault
// that names the file, and the other port is sound.
func TestHostileSysfs(t *testing.T) {
	const device, port = "infiniband_mad/umad0/", "infiniband/mlx5_0/ports/1/"
	tests := []struct{ file, line string }{
		{device + "ibdev", ""},
		{device + "ibdev", "../../etc"},
		{device + "ibdev", "a/b"},
		{device + "ibdev", "."},
		{device + "ibdev", strings.Repeat("x", 1<<16)},
		{device + "port", ""},
		{device + "port", "256"},
		{device + "port", "one"},
		{port + "link_layer", ""},
		{port + "lid", "0x10000"},
		{port + "lid", "-1"},
		{port + "lid_mask_count", "many"},
		{port + "sm_lid", " "},
		{port + "sm_sl", "1000"},
		{port + "cap_mask", "0x100000000"},
		{port + "state", "ACTIVE"},
		{port + "state", "999: ACTIVE"},
		{port + "gids/0", ""},
		{port + "gids/0", "fe80:0000"},
		{port + "pkeys/1", "0x10000"},
		{"infiniband/mlx5_0/node_guid", "0002:c903"},
		{"infiniband/mlx5_0/node_guid", ""},
	}
	sys := sysTree{}.port(0, "mlx5_0", 1, hca).port(1, "rxe0", 1, roce)
	for _, test := range tests {
		t.Run(fmt.Sprintf("%s=%.20q", test.file, test.line), func(t *testing.T) {
			ports, err := listPorts(sys.with(sysTree{test.file: test.line}).fs())
			if err != nil || len(ports) != 2 {
				t.Fatalf("listPorts = %+v, %v", ports, err)
			}
			bad, good := ports[0], ports[1]
			if good.Fault != nil || bad.Fault == nil || bad.Umad != "umad0" {
				t.Fatalf("listPorts = %+v", ports)
			}
			file := strings.TrimPrefix(test.file, "infiniband")
			if err := fault(bad); !errors.Is(err, ErrNoDevice) || !strings.Contains(err.Error(), file) && len(test.line) < 100 {
				t.Errorf("fault %v, want %s in it", err, file)
			}
		})
	}
}

// TestEndlessPKeys reads a table that never ends.
func TestEndlessPKeys(t *testing.T) {
	p := LinuxPort{Info: Info{Device: "mlx5_0", Port: 1}}
	p.read(endless{sysTree{}.port(0, "mlx5_0", 1, hca).fs()})
	if len(p.PKeys) != maxPKeys || p.Fault != nil {
		t.Errorf("%d P_Keys, %v", len(p.PKeys), p.Fault)
	}
}

// endless answers for every P_Key.
type endless struct{ fs.FS }

func (e endless) Open(name string) (fs.File, error) {
	if strings.Contains(name, "/pkeys/") {
		name = "infiniband/mlx5_0/ports/1/pkeys/0"
	}
	return e.FS.Open(name)
}

func FuzzSysfs(f *testing.F) {
	f.Add("mlx5_0", "1", "InfiniBand", "0x11", "4: ACTIVE", "fe80::1", "0xffff")
	f.Fuzz(func(t *testing.T, device, port, link, lid, state, gid, pkey string) {
		sys := sysTree{}.port(0, "mlx5_0", 1, hca).with(sysTree{
			"infiniband_mad/umad0/ibdev": device, "infiniband_mad/umad0/port": port,
		})
		for name, line := range map[string]string{"link_layer": link, "lid": lid, "state": state, "gids/0": gid, "pkeys/0": pkey} {
			sys["infiniband/mlx5_0/ports/1/"+name] = line
		}
		ports, err := listPorts(sys.fs())
		if err != nil || len(ports) != 1 {
			t.Fatalf("listPorts = %+v, %v", ports, err)
		}
		if p := ports[0]; p.Fault == nil && (p.Device != "mlx5_0" || p.Name != "mlx5_0/1") {
			t.Errorf("a port without fault: %+v", p)
		}
	})
}
