package election

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/mad"
)

var update = flag.Bool("update", false, "write what the transcripts of testdata give")

// TestTranscripts runs the commands of testdata/*.txt. What one gives stands
// below it, after a tab, and is reviewed as a difference: run with -update.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no transcripts", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := runTranscript(t, string(want))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" && !*update {
				t.Errorf("transcript (-want +got):\n%s", diff)
			}
		})
	}
}

func runTranscript(t *testing.T, text string) string {
	s := &script{t: t, net: newNetwork(1)}
	s.net.told = s.action
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "\t") {
			continue
		}
		s.out.WriteString(line)
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			s.run(strings.Fields(line))
		}
	}
	return s.out.String()
}

type script struct {
	t   *testing.T
	net *network
	out strings.Builder
}

func (s *script) print(format string, args ...any) {
	fmt.Fprintf(&s.out, "\t%s\n", s.net.named(fmt.Sprintf(format, args...)))
}

// action writes what a machine wants, but for its polls.
func (s *script) action(m *manager, a Action) {
	switch a.Kind {
	case Ask:
	case Tell:
		s.print("%s %s: tell %s %v (as %v) %s", s.net.clock(), m.name, s.net.at(a.Peer.Port).name, a.Control, a.Info.SMState, a.Reason)
	case Discover, Lead, Follow, Leave, Resweep, Announce, Note:
		s.print("%s %s: %v: %s", s.net.clock(), m.name, a.Kind, a.Reason)
	}
}

func (s *script) run(f []string) {
	var about *manager
	if len(f) > 1 && slices.ContainsFunc(s.net.managers, func(m *manager) bool { return m.name == f[1] }) {
		about = s.net.find(f[1])
	}
	switch f[0] {
	case "sm":
		s.define(f[1:])
	case "start":
		about.begin()
	case "kill":
		about.kill()
	case "mute":
		about.mute = true
	case "deaf":
		about.deaf = true
	case "hang":
		about.hung = true
		about.sweep++
	case "wake":
		about.mute, about.hung, about.deaf = false, false, false
		about.Advance(s.net.now)
		about.look()
	case "island":
		var list []*manager
		for _, name := range f[2:] {
			list = append(list, s.net.find(name))
		}
		s.net.place(s.number(f[1]), list...)
	case "loss":
		s.net.loss = float64(s.number(f[1])) / 100
	case "sweep":
		s.net.takes = s.duration(f[1])
	case "run":
		s.net.run(s.duration(f[1]))
	case "show":
		s.show()
	default:
		s.tell(f, about)
	}
}

// tell runs the commands that change one machine.
func (s *script) tell(f []string, m *manager) {
	switch f[0] {
	case "stop":
		m.Stop(s.net.now)
	case "resume":
		m.Start(s.net.now)
	case "configure":
		m.Configure(s.net.now, uint8(s.number(f[2])), mad.SMKey(s.number(f[3])))
	case "fail":
		m.SweepFailed(s.net.now, strings.Join(f[2:], " "))
		m.sweep++
	case "drop":
		s.net.drop[s.control(f[1])] = s.number(f[2])
		return
	case "forget":
		s.net.forget = s.number(f[1])
		return
	case "set": // a Set of SMInfo from another, in the state that it names
		from := s.net.find(f[2])
		info := from.info
		info.SMState = mad.SMState(slices.Index([]string{"notactive", "discovering", "standby", "master"}, f[4]))
		status, answer := m.Request(s.net.now, Request{Set: true, Control: s.control(f[3]), Info: info, Path: from.path()})
		s.print("status %v, %v", status, answer.SMState)
	default:
		s.t.Fatalf("unknown command %s", f[0])
	}
	m.act()
}

func (s *script) control(name string) mad.SMControl {
	return mad.SMControl(1 + slices.Index([]string{"handover", "acknowledge", "disable", "standby", "discover"}, name))
}

func (s *script) define(args []string) {
	cfg := Config{Priority: uint8(s.number(args[1])), Key: 1}
	if len(args) > 2 {
		cfg.Key = mad.SMKey(s.number(args[2]))
	}
	s.net.add(args[0], cfg)
}

func (s *script) show() {
	for _, m := range s.net.managers {
		if !m.up {
			s.print("%s is down", m.name)
			continue
		}
		line := fmt.Sprintf("%s %v priority %d, asked %d", m.name, m.State(), m.Info().Priority, m.asked)
		if p, ok := m.Master(); ok {
			line += fmt.Sprintf(", master subnet manager %v", p.Port)
		}
		s.print("%s", line)
	}
}

func (s *script) number(text string) int {
	n, err := strconv.ParseInt(text, 0, 64)
	if err != nil {
		s.t.Fatal(err)
	}
	return int(n)
}

func (s *script) duration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		s.t.Fatal(err)
	}
	return d
}
