package subnet_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/fabric"
	"heddle/fabric/format"
	"heddle/fabric/topology"
	"heddle/internal/testenv"
	"heddle/sm/subnet"
	"heddle/umad"
)

// nets are the nets that both discover, in files for ibsim.
func nets(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, pattern := range []string{"/usr/share/doc/ibsim-utils/net-examples/net*", sharedNets(t)} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range found {
			files[filepath.Base(file)] = file
		}
	}
	for _, spec := range []string{"fat-tree:k=8", "torus:4x4x2,e=1", "dragonfly:a=4,p=2,h=2"} {
		f, err := topology.Generate(spec)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "net")
		if err := os.WriteFile(file, write(t, f, "ibsim"), 0o644); err != nil {
			t.Fatal(err)
		}
		files[spec] = file
	}
	return files
}

func sharedNets(t *testing.T) string {
	t.Helper()
	dir, ok := testenv.Shared(t, "data", "fabrics")
	if !ok {
		return ""
	}
	return filepath.Join(dir, "ibsim-net*")
}

func write(t *testing.T, f *fabric.Fabric, formatName string) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := format.Write(&b, f, formatName); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func run(t *testing.T, spec string) *subnet.View {
	t.Helper()
	dev, err := umad.Open(spec)
	if err != nil {
		t.Fatal(err)
	}
	port := umad.NewPort(dev)
	r, err := subnet.Sweep(t.Context(), port, subnet.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := port.Close(); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestLikeIbnetdiscover discovers nets on ibsim, as Debian's ibnetdiscover
// does, before and after OpenSM gave LIDs.
func TestLikeIbnetdiscover(t *testing.T) {
	testenv.Peer(t, "ibsim")
	for name, file := range nets(t) {
		t.Run(name, func(t *testing.T) {
			sim := testenv.StartIBSim(t, file)
			compare(t, sim.Name)
			testenv.StartOpenSM(t, sim.Name, "").WaitSubnetUp(t)
			compare(t, sim.Name)
		})
	}
}

func compare(t *testing.T, socketName string) {
	t.Helper()
	text := testenv.Diag(t, socketName, "", "ibnetdiscover")
	theirs, faults, err := format.Read(strings.NewReader(text), "ibnetdiscover", "ibnetdiscover")
	if err != nil {
		t.Fatal(err)
	}
	ours := run(t, "ibsim:"+socketName+"/")
	if diff := cmp.Diff(listing(theirs), listing(ours.Fabric)); diff != "" {
		t.Errorf("fabric (-ibnetdiscover +ours):\n%s\nits faults: %v", diff, faults)
	}
	ourText := write(t, ours.Fabric, "ibnetdiscover")
	if diff := cmp.Diff(lines(text), lines(string(ourText))); diff != "" {
		t.Errorf("text (-ibnetdiscover +ours):\n%s", diff)
	}
}

// lines are the lines of an ibnetdiscover listing in order, without comments at
// the top and empty ones.
func lines(text string) []string {
	var list []string
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, "\n"); line != "" && !strings.HasPrefix(line, "#") {
			list = append(list, line)
		}
	}
	slices.Sort(list)
	return list
}

// listing tells all that ibnetdiscover tells of a fabric, in an order that
// does not depend on that of discovery.
func listing(f *fabric.Fabric) []string {
	var list []string
	for id := range fabric.NodeID(f.NumNodes()) {
		n := f.Node(id)
		list = append(list, fmt.Sprintf("%v %v %q %d ports, system %v vendor %#x device %#x, enhanced %v %+v",
			n.Kind, n.GUID, n.Name, n.NumPorts, n.SystemGUID, n.VendorID, n.DeviceID, n.EnhancedPort0, f.Port(fabric.End{Node: id}).PortInfo))
		for e, peer := range f.Ports(id) {
			port := f.Port(e)
			list = append(list, fmt.Sprintf("%v[%d] -> %v[%d] %v %+v", n.GUID, e.Port,
				f.Node(peer.Node).GUID, peer.Port, f.Link(port.Link).Rate, port.PortInfo))
		}
	}
	slices.Sort(list)
	return list
}
