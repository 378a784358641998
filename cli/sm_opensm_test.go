package cli_test

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"heddle/emu"
	"heddle/fabric"
	fabricformat "heddle/fabric/format"
	"heddle/fabric/topology"
	"heddle/ib"
	"heddle/internal/peer"
	"heddle/internal/testenv"
	"heddle/route"
	"heddle/route/format"
	"heddle/sm/opensm"
	"heddle/sm/plan"
	sweeping "heddle/sm/subnet"
	"heddle/umad"

	"github.com/google/go-cmp/cmp"
)

// netFile is a fat tree for ibsim, whose ports have no LIDs.
func netFile(t *testing.T) string {
	t.Helper()
	f := generate(t)
	var b bytes.Buffer
	if err := fabricformat.Write(&b, f, "ibsim"); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "net")
	if err := os.WriteFile(name, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

func generate(t *testing.T) *fabric.Fabric {
	t.Helper()
	f, err := topology.Generate("fat-tree:k=4")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// portLIDs asks a subnet which LIDs its ports have.
func portLIDs(t *testing.T, name string) map[ib.GUID]plan.LIDRange {
	t.Helper()
	dev, err := umad.Open("ibsim:" + name + "/")
	if err != nil {
		t.Fatal(err)
	}
	port := umad.NewPort(dev)
	v, err := sweeping.Sweep(t.Context(), port, sweeping.Options{})
	if err := errors.Join(err, port.Close()); err != nil {
		t.Fatal(err)
	}
	lids := map[ib.GUID]plan.LIDRange{}
	for _, n := range v.Nodes {
		for _, number := range n.Addressed() {
			info := n.Ports[number].Info
			lids[n.Ports[number].GUID] = plan.LIDRange{First: info.LID, Last: info.LID + 1<<info.LMC - 1}
		}
	}
	return lids
}

func readLIDs(t *testing.T, name string) map[ib.GUID]plan.LIDRange {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	lids, faults, err := opensm.ReadLIDs(bytes.NewReader(text), name)
	if err != nil || len(faults) > 0 {
		t.Fatal(faults, err)
	}
	return lids
}

// TestLIDsFromOpenSM: a subnet that lost its power, and then its OpenSM, has the
// same LIDs with heddle.
func TestLIDsFromOpenSM(t *testing.T) {
	net := netFile(t)
	sim := testenv.StartIBSim(t, net)
	manager := testenv.StartOpenSM(t, sim.Name, "host-07", "lmc 1")
	manager.WaitSubnetUp(t)
	want := portLIDs(t, sim.Name)
	file := filepath.Join(manager.Dir, opensm.LIDsFile)
	if diff := cmp.Diff(want, readLIDs(t, file)); diff != "" {
		t.Fatalf("OpenSM's file (-ports +file):\n%s", diff)
	}
	manager.Stop()
	sim.Stop()

	sim = testenv.StartIBSim(t, net)
	conf := filepath.Join(manager.Dir, "opensm.conf") // that OpenSM had
	t.Setenv("OSM_CACHE_DIR", manager.Dir)
	heddle(t, "sm", "--port", "ibsim:"+sim.Name+"/", "--once", "--conf", conf)
	if diff := cmp.Diff(want, portLIDs(t, sim.Name)); diff != "" {
		t.Errorf("(-OpenSM +heddle):\n%s", diff)
	}
	if diff := cmp.Diff(want, readLIDs(t, file)); diff != "" {
		t.Errorf("the file (-OpenSM +heddle):\n%s", diff)
	}
}

// TestLIDsToOpenSM: an administrator who goes back to OpenSM keeps the LIDs.
func TestLIDsToOpenSM(t *testing.T) {
	testenv.Peer(t, "opensm")
	net, dir := netFile(t), t.TempDir()
	file := filepath.Join(dir, opensm.LIDsFile)
	want := map[ib.GUID]plan.LIDRange{}
	sim := testenv.StartIBSim(t, net)
	for i, guid := range slices.Sorted(maps.Keys(portLIDs(t, sim.Name))) {
		lid := ib.LID(500 - 7*i)
		want[guid] = plan.LIDRange{First: lid, Last: lid}
	}
	var b bytes.Buffer
	if err := opensm.WriteLIDs(&b, want); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "old"), b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, b.Bytes()[:b.Len()/2-10], 0o644); err != nil { // half of it, to be completed
		t.Fatal(err)
	}
	heddle(t, "sm", "--port", "ibsim:"+sim.Name+"/host-03", "--once", "--guid2lid", file)
	want = portLIDs(t, sim.Name)
	if diff := cmp.Diff(want, readLIDs(t, file)); diff != "" {
		t.Fatalf("heddle's file (-ports +file):\n%s", diff)
	}
	sim.Stop()

	sim = testenv.StartIBSim(t, net)
	manager, err := peer.StartOpenSM(dir, sim.Name, "host-07", "honor_guid2lid_file TRUE")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(manager.Stop)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := manager.WaitSubnetUp(ctx); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, portLIDs(t, sim.Name)); diff != "" {
		t.Errorf("(-heddle +OpenSM):\n%s", diff)
	}
}

// TestDumpsLikeOpenSM has OpenSM route a subnet with groups, and compares the
// files that it dumps with what heddle writes of the same tables; then heddle
// takes the subnet over, and dumps what does not depend on the routes alike.
func TestDumpsLikeOpenSM(t *testing.T) {
	f := generate(t)
	live, err := emu.Start(f, emu.Config{})
	if err != nil {
		t.Fatal(err)
	}
	name := testenv.SocketName(t)
	server, err := live.Serve(name, emu.ServeConfig{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := errors.Join(server.Close(), live.Close()); err != nil {
			t.Error(err)
		}
	}()
	manager := testenv.StartOpenSM(t, name, "host-07", "log_flags 0x43")
	manager.WaitSubnetUp(t)
	heddle(t, "group", "storm", "--port", "ibsim:"+name+"/host-05", "--groups", "random:5x4")
	if err := syscall.Kill(manager.PID(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	manager.WaitSubnetUp(t)
	theirs := func(file string) string {
		text, err := os.ReadFile(filepath.Join(manager.Dir, file))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	compareDumps(t, name, theirs)

	lst, lfts, fdbs := theirs(opensm.SubnetLstFile), theirs(opensm.LFTsFile), theirs(opensm.FDBsFile)
	manager.Stop()
	for look := time.NewTicker(10 * time.Millisecond); server.Clients() > 0; { // which has the port until that is seen
		<-look.C
	}
	dir := t.TempDir()
	heddle(t, "sm", "--port", "ibsim:"+name+"/host-07", "--once", "--dump-dir", dir)
	for file, want := range map[string]string{opensm.SubnetLstFile: lst, opensm.LFTsFile: lfts, opensm.FDBsFile: fdbs} {
		text, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(withoutPorts(file, want), withoutPorts(file, string(text))); diff != "" {
			t.Errorf("%s (-OpenSM +heddle):\n%s", file, diff)
		}
	}
}

// compareDumps reads OpenSM's dumps, and its switches' multicast tables, and
// writes them as heddle does.
func compareDumps(t *testing.T, name string, theirs func(file string) string) {
	t.Helper()
	dev, err := umad.Open("ibsim:" + name + "/")
	if err != nil {
		t.Fatal(err)
	}
	port := umad.NewPort(dev)
	v, err := sweeping.Sweep(t.Context(), port, sweeping.Options{})
	if err := errors.Join(err, port.Close()); err != nil {
		t.Fatal(err)
	}
	g := route.NewGraph(v.Fabric, route.Selection{})
	lids, err := route.LIDsOf(v.Fabric)
	if err != nil {
		t.Fatal(err)
	}
	hops, err := route.NewHops(g, 1)
	if err != nil {
		t.Fatal(err)
	}
	lfts, err := format.ReadLFTs(strings.NewReader(theirs(opensm.LFTsFile)), g, lids)
	if err != nil {
		t.Fatal(err)
	}
	mfts, err := format.ReadMFTs(strings.NewReader(testenv.Diag(t, name, "host-01", "dump_mfts")), g)
	if err != nil {
		t.Fatal(err)
	}
	var ours [3]bytes.Buffer
	if err := errors.Join(format.WriteOpenSMLFTs(&ours[0], lfts), format.WriteFDBs(&ours[1], lfts, hops), format.WriteMCFDBs(&ours[2], mfts)); err != nil {
		t.Fatal(err)
	}
	for i, file := range []string{opensm.LFTsFile, opensm.FDBsFile, opensm.MCFDBsFile} {
		if diff := cmp.Diff(tables(theirs(file)), tables(ours[i].String())); diff != "" {
			t.Errorf("%s (-OpenSM +heddle):\n%s", file, diff)
		}
	}
}

// tables splits a dump by switch: OpenSM has them in another order.
func tables(text string) []string {
	text = strings.ReplaceAll(text, "dump_ucast_routes: ", "\x00")
	text = strings.ReplaceAll(text, "\nSwitch ", "\x00Switch ")
	text = strings.ReplaceAll(text, "Unicast lids", "\x00Unicast lids")
	return slices.Sorted(strings.SplitSeq(text, "\x00"))
}

// withoutPorts are the lines of a dump but for the ports that lie on routes.
func withoutPorts(file, text string) []string {
	lines := slices.Collect(strings.Lines(text))
	for i, line := range lines {
		if strings.HasPrefix(line, "0x") && file == opensm.LFTsFile {
			lines[i] = line[:7] + line[11:]
		} else if strings.HasPrefix(line, "0x") {
			lines[i] = line[:9] + line[16:]
		}
	}
	slices.Sort(lines)
	return lines
}
