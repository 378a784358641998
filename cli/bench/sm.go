package bench

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"heddle/emu"
	"heddle/fabric/pattern"
	"heddle/ib"
	"heddle/internal/peer"
)

// SM compares heddle's subnet manager with OpenSM. Each runs in a process of
// its own, with its defaults, on a simulated subnet that nobody managed before.
type SM struct {
	// Program is the path of heddle itself, which runs as the manager.
	Program string
	// Peer measures OpenSM beside.
	Peer bool
	// Emulated has the emulated subnet simulate, instead of ibsim.
	Emulated bool
	// Together has the groups of a load become complete together: the client
	// joins for all their first members, then for the second ones, and so on,
	// instead of one group after the other.
	Together bool
	// Runs is how often each figure is measured, of which the median counts.
	Runs int
	// Queries are how many paths a run of Paths asks for.
	Queries int
	// Watch is told what runs next.
	Watch func(what string)
}

// smStage is a fabric on which managers are compared.
type smStage struct {
	*stage
	managers []manager
	emulated bool
	together bool // as SM.Together
	mlids    int  // of the emulated switches, as emu.Config has them
}

// usualMLIDs are as many as ibsim 0.10 has.
const usualMLIDs = 1024

// stage makes the fabric, and finds the programs.
func (m *SM) stage(ctx context.Context, spec string, emulated bool) (*smStage, error) {
	var programs []string
	if !emulated {
		programs = []string{"ibsim"}
	}
	name := ""
	if m.Peer {
		var err error
		if name, err = peer.Version(ctx, "opensm"); err != nil {
			return nil, err
		}
	}
	e := &Emu{Program: m.Program, Runs: m.Runs, Watch: m.Watch}
	s, err := e.stage(ctx, spec, programs...)
	if err != nil {
		return nil, err
	}
	s.peerName = name
	if emulated {
		s.with = []string{"heddle emu"}
	}
	if n := len(s.fabric.Adapters()); n < 4 {
		s.close()
		return nil, fmt.Errorf("%s has %d adapters: want one for the manager, two for clients, and one more", spec, n)
	}
	return &smStage{s, m.managers(), emulated, m.Together, usualMLIDs}, nil
}

// ground is a simulated subnet.
type ground struct {
	name string    // base of its sockets' names
	dir  string    // of its own
	live *emu.Live // nil for ibsim
	pid  int       // of the process that simulates it
	stop func()
}

// ground starts a subnet that nobody managed yet.
func (s *smStage) ground(ctx context.Context) (*ground, error) {
	if s.emulated {
		return s.emulate()
	}
	r, err := s.start(ctx, server{"ibsim", startIBSim})
	if err != nil {
		return nil, err
	}
	return &ground{name: r.socketName, dir: r.dir, pid: r.PID(), stop: r.Stop}, nil
}

// emulate serves the subnet from this process, so that it can be looked at.
func (s *smStage) emulate() (*ground, error) {
	s.sockets++
	g := &ground{name: fmt.Sprintf("heddle-bench-%d-%d", os.Getpid(), s.sockets), pid: os.Getpid()}
	var err error
	if g.dir, err = os.MkdirTemp(s.dir, "emu"); err != nil {
		return nil, err
	}
	// as the ones of ibsim 0.10, see likeIBSim
	g.live, err = emu.Start(s.fabric, emu.Config{
		MLIDs: s.mlids, LIDs: 30720, MTU: ib.MTU2048, VLs: 8, PKeys: 64, SwitchPKeys: 64, EnhancedPort0: true,
	})
	if err != nil {
		return nil, err
	}
	served, err := g.live.Serve(g.name, emu.ServeConfig{})
	if err != nil {
		g.live.Close() //nolint:errcheck // the first error is told
		return nil, err
	}
	g.stop = func() {
		served.Close() //nolint:errcheck // nothing is left to lose
		g.live.Close() //nolint:errcheck // as above
	}
	return g, nil
}

// stats are those of the emulated subnet, and its time.
func (g *ground) stats() (stats emu.Stats, now time.Duration) {
	g.live.Do(func(s *emu.Subnet) error { //nolint:errcheck // it returns nil
		stats, now = s.Stats(), s.Now()
		return nil
	})
	return stats, now
}

// Load is a set of groups, by a name: 1000x8 are 1,000 random groups of 8
// members, rows are processes in the order of their leaf switches, 16 to a group.
type Load string

// Loads are the usual ones.
func Loads() []Load { return []Load{"1000x8", "1000x32", "20x1024", "rows"} }

// rowMembers is how many members a group of the load rows has.
const rowMembers = 16

// pattern is the load as package pattern makes it on so many adapters: a group
// has no more members than there are. Only groups whose names begin with the
// prefix count.
func (l Load) pattern(adapters int) (text, prefix string, err error) {
	if l == "rows" {
		columns := max(1, min(rowMembers, adapters/2))
		return fmt.Sprintf("grid:%dx%d", columns, adapters/columns), "dim0-", nil
	}
	groups, members, ok := strings.Cut(string(l), "x")
	n, errGroups := strconv.Atoi(groups)
	m, errMembers := strconv.Atoi(members)
	if !ok || errGroups != nil || errMembers != nil || n < 1 || m < 2 {
		return "", "", fmt.Errorf("groups %q: want rows, or GROUPSxMEMBERS such as 1000x8", string(l))
	}
	return fmt.Sprintf("random:%dx%d", n, min(m, adapters)), "", nil
}

// Check tells what is wrong with the name.
func (l Load) Check() error {
	text, _, err := l.pattern(1 << 14)
	if err == nil {
		_, err = pattern.Parse(text)
	}
	return err
}
