package cli_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"heddle/cli"
	"heddle/emu"
	"heddle/fabric/topology"
	"heddle/ib"
	"heddle/internal/testenv"
	"heddle/mad"
	"heddle/umad"
)

// tableLen is the number of records that the subnet manager of the test has:
// some twenty datagrams.
const tableLen = 40

// startTable serves an emulated subnet and, at its first adapter, a subnet
// manager whose only answer is a table of nodes. It returns the name of the
// sockets.
func startTable(t *testing.T) string {
	t.Helper()
	f, err := topology.Generate("single:hosts=2")
	if err != nil {
		t.Fatal(err)
	}
	live, err := emu.Start(f, emu.Config{KeepLIDs: true})
	if err != nil {
		t.Fatal(err)
	}
	name := testenv.SocketName(t)
	server, err := live.Serve(name, emu.ServeConfig{})
	if err != nil {
		t.Fatal(err)
	}
	dev, err := umad.Open("ibsim:" + name + "/")
	if err != nil {
		t.Fatal(err)
	}
	port := umad.NewPort(dev)
	sa := umad.Agent{Class: mad.ClassSA, Version: 2, Methods: []mad.Method{mad.MethodGetTable}, RMPP: true}
	if err := port.Handle(sa, func(m *umad.Message) { answerTable(t, port, m) }); err != nil {
		t.Fatal(err)
	}
	if err := port.SetIsSM(true); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, end := range []func() error{port.Close, server.Close, live.Close} {
			if err := end(); err != nil {
				t.Error(err)
			}
		}
	})
	return name
}

// answerTable answers with the records of all LIDs, or of the one asked for.
func answerTable(t *testing.T, port *umad.Port, m *umad.Message) {
	asked, err := mad.ParseNodeRecord(m.Datagram().Data())
	if err != nil {
		t.Error(err)
	}
	byLID := m.Datagram().ComponentMask()&mad.NodeRecordLID != 0
	if err := m.Reply(mad.StatusOK); err != nil {
		t.Error(err)
	}
	d := m.Datagram()
	h := d.SAHeader()
	h.RMPP = mad.RMPPHeader{Version: mad.RMPPVersion, Type: mad.RMPPData, Flags: mad.RMPPActive}
	h.AttributeOffset = mad.RecordOffset(mad.NodeRecord{})
	d.SetSAHeader(h)
	m.Data = m.Data[:56]
	for lid := ib.LID(1); lid <= tableLen; lid++ {
		if !byLID || lid == asked.LID {
			m.Data = mad.AppendRecord(m.Data, mad.NodeRecord{LID: lid, Description: mad.NewNodeDescription(fmt.Sprint("node ", lid))})
		}
	}
	if err := port.Send(m); err != nil {
		t.Error(err)
	}
}

func heddle(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if status := cli.Main(args, strings.NewReader(""), &out, &errs); status != 0 {
		t.Fatalf("heddle %s: status %d: %s", strings.Join(args, " "), status, &errs)
	}
	return out.String()
}

// TestMadGetAll reads a table that comes in many datagrams, over the sockets of
// our own emulator.
func TestMadGetAll(t *testing.T) {
	spec := "ibsim:" + startTable(t) + "/"
	get := func(more ...string) string {
		return heddle(t, append([]string{"mad", "get", "node-record", "--port", spec, "--all", "--sm-lid", lidAt(t, spec)}, more...)...)
	}
	out := get("--json")
	for lid, line := range strings.Split(strings.TrimSpace(out), "\n") {
		begin, end := fmt.Sprintf(`{"NodeRecord":{"LID":%d,`, lid+1), fmt.Sprintf(`"Description":"node %d"}}`, lid+1)
		if !strings.HasPrefix(line, begin) || !strings.HasSuffix(line, end) {
			t.Fatalf("line %s", line)
		}
	}
	if n := strings.Count(out, "\n"); n != tableLen {
		t.Errorf("%d records", n)
	}
	if text := get(); strings.Count(text, "\n\n") != tableLen-1 {
		t.Errorf("%d empty lines between %d records", strings.Count(text, "\n\n"), tableLen)
	}
	if text := get("--lid", "7"); strings.Count(text, "Description") != 1 || !strings.Contains(text, "node 7") {
		t.Errorf("of LID 7: %s", text)
	}
	if text := get("--lid", "77"); text != "" {
		t.Errorf("of a LID that is not there: %s", text)
	}
}

// lidAt is the LID of a port.
func lidAt(t *testing.T, spec string) string {
	t.Helper()
	for line := range strings.Lines(heddle(t, "mad", "get", "port-info", "--port", spec)) {
		if words := strings.Fields(line); words[0] == "LID" {
			return words[1]
		}
	}
	t.Fatal("PortInfo without LID")
	return ""
}
