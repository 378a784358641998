package opensm

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/emu"
	"heddle/fabric"
	"heddle/fabric/format"
	"heddle/fabric/topology"
	"heddle/ib"
	"heddle/internal/testenv"
	"heddle/mad"
	"heddle/sm/plan"
	"heddle/sm/subnet"
	"heddle/umad"
)

// TestLikeOpenSM brings subnets up with OpenSM, and writes what it does.
func TestLikeOpenSM(t *testing.T) {
	testenv.Peer(t, "opensm")
	for _, spec := range []string{"fat-tree:k=4", "torus:3x3,e=1", "dragonfly:a=4,p=2,h=2"} {
		t.Run(spec, func(t *testing.T) {
			f, err := topology.Generate(spec)
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
			sm := testenv.StartOpenSM(t, name, "", "lmc 1")
			sm.WaitSubnetUp(t)
			dev, err := live.Open("", 0)
			if err != nil {
				t.Fatal(err)
			}
			port := umad.NewPort(dev)
			defer func() {
				if err := errors.Join(port.Close(), server.Close(), live.Close()); err != nil {
					t.Error(err)
				}
			}()
			v, err := subnet.Sweep(t.Context(), port, subnet.Options{})
			if err != nil {
				t.Fatal(err)
			}
			compareLst(t, v, filepath.Join(sm.Dir, SubnetLstFile))
			compareLIDs(t, v, filepath.Join(sm.Dir, LIDsFile))
		})
	}
}

func compareLst(t *testing.T, v *subnet.View, file string) {
	t.Helper()
	var b bytes.Buffer
	if err := WriteSubnetLst(&b, v); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sortedLines(readFile(t, file)), sortedLines(b.String())); diff != "" {
		t.Errorf("%s (-OpenSM +ours):\n%s", SubnetLstFile, diff)
	}
	read, faults, err := format.Read(&b, file, "subnet.lst")
	if err != nil || len(fabric.Errors(faults)) > 0 || read.NumNodes() != v.Fabric.NumNodes() || read.NumLinks() != v.Fabric.NumLinks() {
		t.Errorf("read back: %v, %v, %v", read, faults, err)
	}
}

func sortedLines(text string) []string { return slices.Sorted(strings.Lines(text)) }

// compareLIDs wants the LIDs that OpenSM's file tells to be those of the ports.
func compareLIDs(t *testing.T, v *subnet.View, path string) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	lids, faults, err := ReadLIDs(file, LIDsFile)
	if err := errors.Join(err, file.Close()); err != nil || len(faults) > 0 {
		t.Fatal(err, faults)
	}
	want := map[ib.GUID]plan.LIDRange{}
	for _, n := range v.Nodes {
		for _, i := range n.Addressed() {
			info := n.Ports[i].Info
			want[n.Ports[i].GUID] = plan.LIDRange{First: info.LID, Last: info.LID + 1<<info.LMC - 1}
		}
	}
	if diff := cmp.Diff(want, lids); diff != "" {
		t.Errorf("%s (-ports +file):\n%s", LIDsFile, diff)
	}
}

// TestSubnetLstWords: how states, rates, kinds and odd names are written.
func TestSubnetLstWords(t *testing.T) {
	f, err := topology.Generate("single:hosts=2")
	if err != nil {
		t.Fatal(err)
	}
	live, err := emu.Start(f, emu.Config{})
	if err != nil {
		t.Fatal(err)
	}
	dev, err := live.Open("", 0)
	if err != nil {
		t.Fatal(err)
	}
	port := umad.NewPort(dev)
	v, err := subnet.Sweep(t.Context(), port, subnet.Options{})
	if err := errors.Join(err, port.Close(), live.Close()); err != nil {
		t.Fatal(err)
	}
	sw, one, two := v.Nodes[0], v.Nodes[1], v.Nodes[2]
	one.Description, two.Description = "a} LID:\n{", "router"
	two.Info.NodeType, two.Info.VendorID, two.Info.Revision = mad.NodeRouter, 0x2c9, 0xa1
	one.Ports[1].Info.LinkWidthActive, one.Ports[1].Info.PortState = 0, mad.PortArmed
	two.Ports[1].Info.LinkSpeedActive, two.Ports[1].Info.LinkSpeedExtActive, two.Ports[1].FDR10 = 4, 0, true
	two.Ports[1].Info.PortState, sw.Ports[1].Info.PortState, sw.Ports[2].Info.PortState = mad.PortActive, mad.PortDown, mad.PortInit
	var b bytes.Buffer
	if err := WriteSubnetLst(&b, v); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"{a) LID:?{} LID:0000 PN:01 }", "{ RT Ports:", "VenID:0002C9 DevID:0000 Rev:000000A1 {router}", "VenID:000002C9",
		"PHY=?? LOG=ARM SPD=", "PHY=4x LOG=ACT SPD=FDR10", " LOG=DWN ", " LOG=INI ",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}
