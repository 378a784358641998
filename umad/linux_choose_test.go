package umad

import (
	"errors"
	"strings"
	"testing"
)

func TestParsePortName(t *testing.T) {
	for spec, want := range map[string]portName{
		"umad:":           {},
		"umad:mlx5_0":     {device: "mlx5_0"},
		"umad:mlx5_0/1":   {device: "mlx5_0", port: 1},
		"umad:hfi1_0/255": {device: "hfi1_0", port: 255},
	} {
		got, err := parsePortName(spec)
		if got != want || err != nil || got.String() != spec {
			t.Errorf("parsePortName(%q) = %v, %v", spec, got, err)
		}
	}
	for _, spec := range []string{"", "mlx5_0/1", "ibsim:a/b", "umad:mlx5_0/", "umad:mlx5_0/0", "umad:mlx5_0/256", "umad:/1", "umad:a/1/2", "umad:a/-1"} {
		if got, err := parsePortName(spec); err == nil {
			t.Errorf("parsePortName(%q) = %v", spec, got)
		}
	}
}

func TestChoosePort(t *testing.T) {
	state := func(s string) sysTree { return hca.with(sysTree{"state": s}) }
	plane := sysTree{"cap_mask": "0x2651ec48"} // IsSMdisabled
	mixed := sysTree{}.port(0, "mlx4_0", 1, roce).port(1, "mlx5_0", 1, state("1: DOWN")).
		port(2, "mlx5_0", 2, state("2: INIT")).port(3, "mlx5_1", 1, hca).port(4, "mlx5_2", 1, hca)
	tests := []struct {
		name string
		sys  sysTree
		spec string
		want string
		err  error
		text string // in the error
	}{
		{"very port", mixed, "umad:mlx5_0/1", "mlx5_0/1", nil, ""},
		{"very port of Ethernet", mixed, "umad:mlx4_0/1", "mlx4_0/1", nil, ""},
		{"first active", mixed, "umad:", "mlx5_1/1", nil, ""},
		{"best of a device", mixed, "umad:mlx5_0", "mlx5_0/2", nil, ""},
		{"planes last", mixed.port(3, "mlx5_1", 1, hca.with(plane)), "umad:", "mlx5_2/1", nil, ""},
		{"a plane before none", sysTree{}.port(0, "mlx5_0", 1, hca.with(plane)), "umad:", "mlx5_0/1", nil, ""},
		{"a plane before one that is down", sysTree{}.port(0, "a", 1, state("1: DOWN")).port(1, "b", 1, hca.with(plane)), "umad:", "b/1", nil, ""},
		{"broken ones are passed over", mixed.with(sysTree{"infiniband/mlx5_1/node_guid": "?"}), "umad:", "mlx5_2/1", nil, ""},
		{"no such device", mixed, "umad:mlx9_0", "", ErrNoDevice, "mlx5_0/2 (InfiniBand, Init)"},
		{"no such port", mixed, "umad:mlx5_0/3", "", ErrNoDevice, "umad:mlx5_0/3"},
		{"Ethernet only", sysTree{}.port(0, "rxe0", 1, roce), "umad:", "", ErrNotInfiniBand, "rxe0/1 (Ethernet, Active)"},
		{"device of Ethernet", mixed, "umad:mlx4_0", "", ErrNotInfiniBand, "name umad:mlx4_0/1"},
		{"all down", sysTree{}.port(0, "mlx5_0", 1, state("1: DOWN")), "umad:", "", ErrNoDevice, "cable"},
		{"broken", mixed.with(sysTree{"infiniband/mlx5_1/node_guid": "?"}), "umad:mlx5_1/1", "", ErrNoDevice, "node_guid"},
		{"broken device", mixed.with(sysTree{"infiniband/mlx5_1/node_guid": "?"}), "umad:mlx5_1", "", ErrNoDevice, "node_guid"},
		{"none", sysTree{"infiniband_mad/abi_version": "5"}, "umad:", "", ErrNoDevice, "there is none"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ports, err := listPorts(test.sys.fs())
			if err != nil {
				t.Fatal(err)
			}
			name, err := parsePortName(test.spec)
			if err != nil {
				t.Fatal(err)
			}
			got, err := choosePort(ports, name)
			if got.Name != test.want || !errors.Is(err, test.err) || (err == nil) != (test.err == nil) {
				t.Fatalf("choosePort = %q, %v", got.Name, err)
			}
			if err != nil && !strings.Contains(err.Error(), test.text) {
				t.Errorf("error %v, want %q in it", err, test.text)
			}
		})
	}
}
