package emu

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"heddle/fabric"
	"heddle/ib"
	"heddle/internal/console"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var updateConsole = flag.Bool("update-console", false, "write what the console answers into testdata/console")

// consoleFabric has what makes names hard: blanks, quotes and brackets in them,
// two nodes of one description, an adapter of two ports, two links in parallel,
// and an adapter without any.
func consoleFabric(t testing.TB) *fabric.Fabric {
	t.Helper()
	var b fabric.Builder
	add := func(id, name string, kind fabric.Kind, guid ib.GUID, ports uint16) fabric.NodeID {
		return b.AddNode(fabric.Node{GUID: guid, Name: name, ID: id, Kind: kind, NumPorts: ports, MulticastCap: fabric.CapUnknown}, fabric.Place{})
	}
	s1 := add("S-1", "spine one", fabric.Switch, 0x10, 4)
	s2 := add("S-2", "leaf", fabric.Switch, 0x20, 6)
	s3 := add("S-3", "leaf", fabric.Switch, 0x30, 4)
	h1 := add("H-1", "host 1", fabric.Adapter, 0x100, 2)
	h2 := add("H-2", "o'brien [2]", fabric.Adapter, 0x200, 1)
	h3 := add("host[1]", "third", fabric.Adapter, 0x300, 1)
	add("H-4", "no cable", fabric.Adapter, 0x400, 1)
	for port := range uint16(2) {
		b.SetPort(fabric.End{Node: h1, Port: port + 1}, fabric.PortInfo{GUID: ib.GUID(0x101 + port)}, fabric.Place{})
	}
	cable := func(x fabric.NodeID, p uint16, y fabric.NodeID, q uint16) {
		b.Cable(fabric.End{Node: x, Port: p}, fabric.End{Node: y, Port: q}, ib.LinkRate{Width: ib.Width4x, Speed: ib.HDR}, fabric.Place{})
	}
	cable(s1, 1, s2, 2)
	cable(s1, 2, s2, 3)
	cable(s1, 3, s3, 3)
	cable(h1, 1, s2, 1)
	cable(h1, 2, s3, 1)
	cable(h2, 1, s3, 2)
	cable(h3, 1, s2, 4)
	f, _ := b.Build() // with the fault of an adapter that has no cable
	return f
}

// consoleSubnet has two clients, and ports that know of a subnet manager.
func consoleSubnet(t testing.TB) *Subnet {
	t.Helper()
	s, err := New(consoleFabric(t), Config{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	for id := range s.nodes {
		for p := range s.nodes[id].ports {
			e := fabric.End{Node: fabric.NodeID(id), Port: uint16(p)}
			if s.has(e) && s.addressed(e) {
				s.portOf(e).info.LID, s.portOf(e).info.MasterSMLID = ib.LID(10*id+p+1), 1
			}
		}
	}
	s.portOf(fabric.End{Node: 6, Port: 1}).info.MasterSMLID = 0
	for _, name := range []string{"H-1", "S-2"} {
		end, err := s.End(name, 0)
		if err != nil {
			t.Fatal(err)
		}
		c, err := s.Attach(end, ClientOptions{Name: "client of " + name, Receive: func(*Packet) {}})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.SetIsSM(name == "H-1"); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// TestConsole runs the transcripts of testdata/console: lines that begin with
// "> " are commands, "@ " a time that passes, "# " comments; what follows a
// command is its answer.
func TestConsole(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "console", "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatal("no transcripts", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := replay(t, consoleSubnet(t), string(want))
			if *updateConsole {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func replay(t *testing.T, s *Subnet, script string) string {
	t.Helper()
	var b strings.Builder
	for line := range strings.Lines(script) {
		switch line[0] {
		case '>':
			b.WriteString(line)
			answer, err := s.Console(line[1:])
			if err != nil {
				answer = "error: " + err.Error() + "\n"
			}
			b.WriteString(answer)
		case '@':
			b.WriteString(line)
			d, err := time.ParseDuration(strings.TrimSpace(line[1:]))
			if err != nil {
				t.Fatal(err)
			}
			s.Advance(s.Now() + d)
		case '#', '\n':
			b.WriteString(line)
		}
	}
	return b.String()
}

func TestTroubleIsReadAsItIsWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := Trouble{
			Drop: rapid.Float64Range(0, 1).Draw(t, "drop"), Duplicate: rapid.Float64Range(0, 1).Draw(t, "duplicate"),
			Delay:  time.Duration(rapid.Int64Range(0, int64(longest)).Draw(t, "delay")),
			Jitter: time.Duration(rapid.Int64Range(1, int64(longest)).Draw(t, "jitter")),
		}
		got, err := parseTrouble(strings.Fields(want.String()))
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Fatalf("%v: %v (-want +got):\n%s", want, err, diff)
		}
	})
	if got := (Trouble{}).String(); got != "none" {
		t.Errorf("no trouble is %q", got)
	}
}

// FuzzConsole gives a console lines. Nothing takes it down or keeps it busy,
// and the answers are whole lines.
func FuzzConsole(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("testdata", "console", "*.txt"))
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if command, ok := strings.CutPrefix(line, "> "); ok {
				f.Add(command)
			}
		}
	}
	f.Add("link flap H-1[1] 1000000 1ms 1ms\nbabble S-2 1 1ms\nduplicate 1\ndrop NaN\ndelay 24h 24h\nslow S-1 24h 1")
	f.Fuzz(func(t *testing.T, lines string) {
		s := consoleSubnet(t)
		for n, line := range slices.Collect(strings.Lines(lines)) {
			if n == 20 { // a longer time with faults that repeat is only slow
				break
			}
			answer, err := s.Console(line)
			if err != nil && answer != "" {
				t.Fatalf("%q: both an error %v and an answer %q", line, err, answer)
			}
			if answer != "" && !strings.HasSuffix(answer, "\n") {
				t.Fatalf("%q: %q does not end its last line", line, answer)
			}
			s.Advance(s.Now() + 20*time.Millisecond)
		}
		s.Status()
	})
}

func TestNamesThatAreToldAreRead(t *testing.T) {
	s := consoleSubnet(t)
	for id := range s.nodes {
		for p := range s.nodes[id].ports {
			e := fabric.End{Node: fabric.NodeID(id), Port: uint16(p)}
			if p == 0 || s.portOf(e).link == fabric.NoLink {
				continue
			}
			words, err := console.Split(s.endName(e))
			if err != nil || len(words) != 1 {
				t.Fatalf("%s is %q, %v", s.endName(e), words, err)
			}
			got, rest, err := s.place(words)
			if err != nil || len(rest) > 0 || got.node != e.Node || !slices.Equal(got.ports, []uint16{e.Port}) {
				t.Errorf("%s of %v is read as %v, %q, %v", s.endName(e), e, got, rest, err)
			}
		}
	}
}
