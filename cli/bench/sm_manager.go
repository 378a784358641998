package bench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"

	"heddle/internal/peer"
)

// manager is a kind of subnet manager.
type manager struct {
	name  string
	start func(ctx context.Context, s *smStage, g *ground) (*managing, error)
}

// managing is a manager that has brought its subnet up.
type managing struct {
	*peer.Process
	ours bool
	took time.Duration // from its start until it said that the subnet is up
	sent int           // SMPs that it says it sent until then, where it says so
}

// managers are those that are compared, heddle's first.
func (m *SM) managers() []manager {
	list := []manager{{"heddle", startHeddle}}
	if m.Peer {
		list = append(list, manager{"OpenSM", startOpenSM})
	}
	return list
}

func startOpenSM(ctx context.Context, s *smStage, g *ground) (*managing, error) {
	dir, err := os.MkdirTemp(g.dir, "opensm")
	if err != nil {
		return nil, err
	}
	start := time.Now()
	sm, err := peer.StartOpenSM(dir, g.name, s.adapter(0), "sweep_interval 0")
	if err != nil {
		return nil, err
	}
	if err := sm.WaitSubnetUp(ctx); err != nil {
		sm.Stop()
		return nil, err
	}
	return &managing{Process: sm.Process, took: time.Since(start)}, nil
}

// startHeddle starts heddle sm, which may sweep more than once: it takes links
// down that have to come up with other settings.
func startHeddle(ctx context.Context, s *smStage, g *ground) (*managing, error) {
	start := time.Now()
	p, err := launchHeddle(s, g, 0)
	if err != nil {
		return nil, err
	}
	m := &managing{Process: p, ours: true}
	if err := m.sweeps(ctx); err != nil {
		p.Stop()
		return nil, err
	}
	m.took = time.Since(start)
	return m, nil
}

// launchHeddle starts heddle sm at an adapter, and does not wait for it.
func launchHeddle(s *smStage, g *ground, adapter int, args ...string) (*peer.Process, error) {
	cmd := exec.Command(s.Program, append([]string{"sm", "--client-share", "100", "--port", "ibsim:" + g.name + "/" + s.adapter(adapter)}, args...)...)
	cmd.Dir = g.dir
	return peer.StartLogger(cmd)
}

// sweeps waits until the subnet is up.
func (m *managing) sweeps(ctx context.Context) error {
	for {
		if again, err := m.sweep(ctx); err != nil || !again {
			return err
		}
	}
}

// sweep waits for the end of a sweep of heddle's.
func (m *managing) sweep(ctx context.Context) (again bool, err error) {
	if _, err = m.Wait(ctx, `msg="subnet up"`); err != nil {
		return false, err
	}
	line, err := m.Wait(ctx, "\n")
	if err != nil {
		return false, err
	}
	m.sent += logged(line, "asked") + logged(line, "sent")
	return strings.Contains(line, "again=true"), nil
}

// logged is a number of a line of heddle's log, 0 where there is none.
func logged(line, key string) int {
	_, rest, _ := strings.Cut(line, " "+key+"=")
	text, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return n
}

// written is one time that heddle wrote groups to the switches.
type written struct {
	at   time.Time
	sets int
}

var writtenLine = regexp.MustCompile(`(?m)^time=(\S+) .*msg="groups written" .*$`)

// writes reads from heddle's log when it wrote groups.
func writes(log string) (list []written, err error) {
	for _, m := range writtenLine.FindAllStringSubmatch(log, -1) {
		at, err := time.Parse(time.RFC3339Nano, m[1])
		if err != nil {
			return nil, fmt.Errorf("log of heddle: %w", err)
		}
		list = append(list, written{at, logged(m[0], "sent")})
	}
	return list, nil
}
