package format_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"heddle/fabric"
	"heddle/fabric/format"
)

// hostile is an endless text: a beginning, and then lines by their number. What
// is read of it is cut at a size.
type hostile struct {
	name, format, begin string
	line                func(b []byte, i int) []byte
}

func repeated(text string) func([]byte, int) []byte {
	return func(b []byte, _ int) []byte { return append(b, text...) }
}

// counted makes lines with the number i in the places of verbs.
func counted(text string) func([]byte, int) []byte {
	n := strings.Count(text, "%") - 2*strings.Count(text, "%%")
	return func(b []byte, i int) []byte {
		args := make([]any, n)
		for k := range args {
			args[k] = i
		}
		return fmt.Appendf(b, text, args...)
	}
}

const (
	jsonBegin = `{"format":"heddle fabric","version":1,`
	lstLine   = "{ %s Ports:%s SystemGUID:0 NodeGUID:%%x PortGUID:%%x VenID:0 DevID:0 Rev:0 {} LID:%%x PN:01 } { CA Ports:01 SystemGUID:0 NodeGUID:f%%08x PortGUID:1 VenID:0 DevID:0 Rev:0 {} LID:0 PN:01 } PHY=4x LOG=ACT\n"
)

// hostiles are inputs that could make a reader use much memory or time.
func hostiles() []hostile {
	list := []hostile{
		{"minimal nodes", "ibsim", "", counted("Ca 1 \"%d\"\n")},
		{"minimal nodes", "ibnetdiscover", "", counted("Ca 1 \"H-%016x\"\n")},
		{"nodes of many ports", "ibsim", "", counted("Switch 65535 \"%d\"\n")},
		{"nodes with as many ports as fit", "ibsim", "", counted("Ca 7 \"%d\"\n[7](1)\"0\"[1]\n")},
		{"one node described again", "ibnetdiscover", "", repeated("Ca 1 \"a\"\n")},
		{"one GUID described again", "ibnetdiscover", "", counted("caguid=1\nCa 1 \"a%d\"\n")},
		{"peers that are not described", "ibnetdiscover", "Switch 60000 \"S-0000000000000001\"\n", func(b []byte, i int) []byte {
			return fmt.Appendf(b, "[%d]\"H-%016x\"[1](1)\n", i%60000+1, i)
		}},
		{"one port said again", "ibsim", "Switch 9 \"s\"\nSwitch 9 \"t\"\n", repeated("[1]\"s\"[1]\n")},
		{"one port said anew", "ibsim", "Switch 9 \"s\"\nSwitch 60000 \"t\"\n", func(b []byte, i int) []byte {
			return fmt.Appendf(b, "[1]\"s\"[%d]\n", i%60000+1)
		}},
		{"links that disagree", "ibnetdiscover", "Switch 60000 \"S-0000000000000001\"\n", func(b []byte, i int) []byte {
			p := i%60000 + 1
			return fmt.Appendf(b, "[%d]\"S-0000000000000001\"[%d] # lid 0 lmc 9 \"\" lid 0 %dxSDR\n", p, 60001-p, 1+3*(p%2))
		}},
		{"faults on each line", "ibnetdiscover", "", counted("Ca 1 \"H-%016x\"\n[1](x)\"S-0000000000000001\"[1]# lid 0 lmc 9 \"x lid 0 4xFOO\n")},
		{"one LID for all", "ibnetdiscover", "", counted("Ca 1 \"H-%016x\"\n[1]\"H-%016x\"[1]# lid 1 lmc 7 \"\" lid 1 4xSDR\n")},
		{"made-up GUIDs beside stated ones", "ibsim", "", counted("caguid=0x100000\nCa 0 \"a%d\"\nCa 0 \"b%d\"\n")},
		{"attributes", "ibnetdiscover", "", counted("caguid=zz%d\n")},
		{"quotes", "ibnetdiscover", "", repeated("Switch 1 \"a\" # " + strings.Repeat(`" lid `, 5000) + "\n")},
		{"links of their own", "subnet.lst", "", counted(fmt.Sprintf(lstLine, "SW", "24"))},
		{"links of large switches", "subnet.lst", "", counted(fmt.Sprintf(lstLine, "SW", "FFFF"))},
		{"braces", "subnet.lst", "", repeated("{")},
		{"nodes", "json", jsonBegin + `"nodes":[{}`, counted(`,{"id":"%d","kind":"router"}`)},
		{"nodes of many ports", "json", jsonBegin + `"nodes":[{}`, counted(`,{"id":"%d","kind":"router","ports":65535,"portInfo":[{"port":65535,"lid":1}]}` + "\n")},
		{"nodes that are none", "json", jsonBegin + `"nodes":[0`, repeated(",0")},
		{"links before nodes", "json", jsonBegin + `"links":[{}`, counted(`,{"a":"%d","b":"%d"}`)},
		{"one long name", "json", jsonBegin + `"nodes":[{"name":"`, repeated("xxxxxxxxxxxxxxxx")},
		{"one list of ports", "json", jsonBegin + `"nodes":[{"portInfo":[{}`, repeated(",{}")},
		{"nesting", "json", jsonBegin + `"nodes":`, repeated("[")},
		{"nesting in a node", "json", jsonBegin + `"nodes":[`, repeated(`{"a":`)},
		{"blanks", "json", jsonBegin + `"nodes":[`, repeated("\n")},
		{"a long key", "json", `{"`, repeated("k")},
	}
	for _, form := range format.All() {
		if form.Read != nil {
			list = append(list, hostile{"one line", form.Name, "", repeated("aaaaaaaaaaaaaaaa")},
				hostile{"lines of junk", form.Name, "", counted("junk %d\n")})
		}
	}
	return list
}

// worst tells whether a text is among those that take the most memory.
func (h hostile) worst() bool {
	return slices.Contains([]string{
		"nodes with as many ports as fit", "one port said again", "one port said anew",
		"links before nodes", "one line", "lines of junk",
	}, h.name)
}

// reader gives the first bytes of the text.
func (h hostile) reader(size int64) io.Reader {
	return io.LimitReader(&hostileReader{h: h, rest: []byte(h.begin)}, size)
}

type hostileReader struct {
	h    hostile
	rest []byte
	i    int
}

func (r *hostileReader) Read(p []byte) (int, error) {
	buf := r.rest
	for len(buf) < len(p) {
		buf = r.h.line(buf, r.i)
		r.i++
	}
	n := copy(p, buf)
	r.rest = append([]byte(nil), buf[n:]...)
	return n, nil
}

// childEnv names the hostile text that this process is to read, and its size.
const childEnv = "HEDDLE_FORMAT_HOSTILE"

// report is what a child process says.
type report struct {
	Seconds    float64
	PeakKiB    int64
	Nodes      int
	Faults     int
	Unexpected string
}

func TestMain(m *testing.M) {
	if name := os.Getenv(childEnv); name != "" {
		readHostile(name)
		return
	}
	os.Exit(m.Run())
}

// readHostile reads the text that a parent process names, and reports what it
// took.
func readHostile(name string) {
	var r report
	for _, h := range hostiles() {
		var size int64
		if _, err := fmt.Sscanf(strings.TrimPrefix(name, h.format+"/"+h.name+"="), "%d", &size); err == nil {
			r = h.read(size)
		}
	}
	r.PeakKiB = peakKiB()
	json.NewEncoder(os.Stdout).Encode(r) //nolint:errcheck // the parent sees that it is missing
}

func (h hostile) read(size int64) (r report) {
	start := time.Now()
	f, faults, err := format.Read(h.reader(size), "hostile", h.format)
	r.Seconds, r.Faults = time.Since(start).Seconds(), len(faults)
	if err != nil {
		r.Unexpected = err.Error()
		return r
	}
	r.Nodes = f.NumNodes()
	return r
}

// peakKiB is the most memory that this process had; 0 where the system does not
// tell.
func peakKiB() (kib int64) {
	status, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		fmt.Sscanf(line, "VmHWM: %d kB", &kib) //nolint:errcheck // most lines are others
	}
	return kib
}

// readApart reads a text in a process of its own, whose memory it holds to ten
// times the size.
func (h hostile) readApart(tb testing.TB, size int64) report {
	tb.Helper()
	exe, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(tb.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, exe)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s/%s=%d", childEnv, h.format, h.name, size))
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	var r report
	if err == nil {
		err = json.Unmarshal(out, &r)
	}
	if err != nil {
		tb.Fatalf("%v: %.2000s", err, &errs)
	}
	if most := 10 * size >> 10; r.PeakKiB > most {
		tb.Errorf("%d MiB of memory for %d MiB of text", r.PeakKiB>>10, size>>20)
	}
	r.check(tb)
	return r
}

func (r report) check(tb testing.TB) {
	tb.Helper()
	if r.Unexpected != "" {
		tb.Error(r.Unexpected)
	}
	const kinds = 22
	if r.Faults == 0 || r.Faults > kinds*(fabric.MaxFaults+1) {
		tb.Errorf("%d faults", r.Faults)
	}
}

const hostileSize = 100 << 20

// TestHostileInput reads 100 MiB of each hostile text: it ends, and the memory
// is bounded. Short tests, and those under the race detector, which costs ten
// times the memory and the time, read 1 MiB and leave the rest to
// BenchmarkHostileInput.
func TestHostileInput(t *testing.T) {
	small := raceEnabled || testing.Short()
	for _, h := range hostiles() {
		t.Run(h.format+"/"+h.name, func(t *testing.T) {
			if small {
				h.read(1 << 20).check(t)
				return
			}
			r := h.readApart(t, hostileSize)
			t.Logf("%.1f s, %d MiB, %d nodes, %d faults", r.Seconds, r.PeakKiB>>10, r.Nodes, r.Faults)
		})
	}
}

// BenchmarkHostileInput reads 100 MiB of those texts that take the most memory.
func BenchmarkHostileInput(b *testing.B) {
	for _, h := range hostiles() {
		if !h.worst() {
			continue
		}
		b.Run(h.format+"/"+h.name, func(b *testing.B) {
			b.SetBytes(hostileSize)
			for b.Loop() {
				r := h.readApart(b, hostileSize)
				b.ReportMetric(float64(r.PeakKiB>>10), "MiB")
			}
		})
	}
}
