package bench

import (
	"context"
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"heddle/fabric"
	"heddle/fabric/pattern"
	"heddle/ib"
	"heddle/mad"
	"heddle/sa"
	"heddle/sm/subnet"
	"heddle/umad"
)

// filling is what came of the joins of a load.
type filling struct {
	load
	joins           time.Duration // from the first join to the last answer
	total           time.Duration // from the first join to the last Set
	sets, cells     int
	cpu             time.Duration // of the manager
	client, ground  time.Duration // processor times of the client, and of what simulates the subnet
	oneSets         int           // Sets for one more join, and its cells and time
	oneCells        int
	oneTime         time.Duration
	groups, members int
}

func fillingMetrics() []metric[filling] {
	return []metric[filling]{
		{"maximum EFI", "", func(f filling) float64 { return float64(f.max) }},
		{"links used", "", func(f filling) float64 { return float64(f.links) }},
		{"first join to last Set", "s", func(f filling) float64 { return f.total.Seconds() }},
		{"first join to last answer", "s", func(f filling) float64 { return f.joins.Seconds() }},
		{"last answer to last Set", "s", func(f filling) float64 { return max(0, f.total-f.joins).Seconds() }},
		{"MFT Sets", "", func(f filling) float64 { return float64(f.sets) }},
		{"cells changed", "", func(f filling) float64 { return float64(f.cells) }},
		{"manager's processor time", "s", func(f filling) float64 { return f.cpu.Seconds() }},
		{"client's processor time", "s", func(f filling) float64 { return f.client.Seconds() }},
		{"simulator's processor time", "s", func(f filling) float64 { return f.ground.Seconds() }},
	}
}

func oneMoreMetrics() []metric[filling] {
	return []metric[filling]{
		{"MFT Sets", "", func(f filling) float64 { return float64(f.oneSets) }},
		{"cells changed", "", func(f filling) float64 { return float64(f.oneCells) }},
		{"join to last Set", "s", func(f filling) float64 { return f.oneTime.Seconds() }},
	}
}

// Groups has one client join the groups of each load for all members, at each
// manager in turn, and returns figures of the trees, the time, and the SMPs.
// heddle is measured with joins that say how many members the group will have,
// too; those cases are held against OpenSM's plain joins.
func (m *SM) Groups(ctx context.Context, spec string, loads []Load) ([]Figure, error) {
	s, err := m.stage(ctx, spec, m.Emulated)
	if err != nil {
		return nil, err
	}
	defer s.close()
	var list []Figure
	for _, l := range loads {
		figures, err := s.groups(ctx, l)
		if err != nil {
			return nil, fmt.Errorf("groups %s: %w", l, err)
		}
		list = append(list, figures...)
	}
	return list, nil
}

func (s *smStage) groups(ctx context.Context, l Load) ([]Figure, error) {
	plain := make([][]filling, len(s.managers))
	var collected []filling
	for run := range s.Runs {
		for i, v := range s.managers {
			s.watch("%s: groups %s, plain joins at %s, run %d of %d", s.spec, l, v.name, run+1, s.Runs)
			if err := s.fill(ctx, v, l, false, &plain[i]); err != nil {
				return nil, err
			}
		}
		s.watch("%s: groups %s, collected joins at heddle, run %d of %d", s.spec, l, run+1, s.Runs)
		if err := s.fill(ctx, s.managers[0], l, true, &collected); err != nil {
			return nil, err
		}
	}
	together := append([][]filling{collected}, plain[1:]...)
	name := fmt.Sprintf("groups %s (%d with %d members)", l, collected[0].groups, collected[0].members)
	if s.together {
		name += " together"
	}
	list := figures(s.stage, name+", plain joins", plain, fillingMetrics())
	list = append(list, figures(s.stage, name+", collected joins", together, fillingMetrics())...)
	return append(list, figures(s.stage, fmt.Sprintf("one more join, groups %s present", l), plain, oneMoreMetrics())...), nil
}

// fill starts a subnet and a manager, and joins the groups.
func (s *smStage) fill(ctx context.Context, v manager, l Load, collected bool, to *[]filling) error {
	return s.manage(ctx, v, func(ctx context.Context, g *ground, sm *managing) error {
		port, err := s.port(g, 1)
		if err != nil {
			return err
		}
		defer port.Close() //nolint:errcheck // all is said
		j := joiner{used: g.users(sm), port: port, collected: collected, together: s.together}
		if j.view, err = s.look(ctx, port); err != nil {
			return err
		}
		if j.groups, err = l.generate(j.view.Fabric); err != nil {
			return err
		}
		if err = idle(ctx, sm.PID()); err != nil {
			return err
		}
		if j.meter, err = s.meter(ctx, g, sm); err != nil {
			return err
		}
		defer j.meter.close()
		err = j.run(ctx)
		*to = append(*to, j.got)
		return err
	})
}

// generate makes the groups, of two members and more.
func (l Load) generate(f *fabric.Fabric) ([]fabric.Group, error) {
	text, prefix, err := l.pattern(len(f.Adapters()))
	if err != nil {
		return nil, err
	}
	groups, err := pattern.Generate(f, text)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(groups, func(g fabric.Group) bool {
		return len(g.Members) < 2 || !strings.HasPrefix(g.Name, prefix)
	}), nil
}

// joiner joins for all members of all groups.
type joiner struct {
	got       filling
	used      users
	port      *umad.Port
	view      *subnet.View
	groups    []fabric.Group
	meter     *meter
	collected bool
	together  bool      // the groups become complete together
	mlids     []ib.MLID // of the groups
	tables    cells
}

func (j *joiner) run(ctx context.Context) error {
	j.got.groups = len(j.groups)
	if err := j.used.begin(); err != nil {
		return err
	}
	start := time.Now()
	c, ended, err := j.meter.watched(ctx, func() error { return j.join(ctx) })
	if err != nil {
		return err
	}
	if j.got.cpu, j.got.client, j.got.ground, err = j.used.end(); err != nil {
		return err
	}
	j.got.joins, j.got.total, j.got.sets = ended.Sub(start), c.last.Sub(start), c.sets
	if err := j.judge(ctx); err != nil || j.collected {
		return err // nobody can join a collected group later
	}
	return j.oneMore(ctx)
}

// judge reads what the switches hold, and checks it.
func (j *joiner) judge(ctx context.Context) (err error) {
	if j.tables, err = readMFTs(ctx, j.port, j.view, slices.Max(j.mlids)); err != nil {
		return err
	}
	j.got.cells = j.tables.changes(nil)
	j.got.load = j.tables.load(j.view.Fabric, j.mlids)
	for i, g := range j.groups {
		if err := j.tables.check(j.view.Fabric, g.Members, j.mlids[i]); err != nil {
			return err
		}
	}
	return nil
}

// mgid is that of a group.
func (j *joiner) mgid(group int) ib.MGID {
	mgid := ib.MGID{0xFF, 0x12, 0x68, 0x64}
	binary.BigEndian.PutUint32(mgid[12:], uint32(group)+1)
	return mgid
}

// record is the join of a port.
func (j *joiner) record(group int, member fabric.End) mad.MCMemberRecord {
	r := mad.MCMemberRecord{
		MGID: j.mgid(group), QKey: 0x68656464, PKey: ib.DefaultPKey, JoinState: mad.JoinFull,
		PortGID: ib.NewGID(0xFE80<<48, j.view.Fabric.Port(member).GUID),
	}
	if j.collected {
		r.MemberCount = uint16(len(j.groups[group].Members))
	}
	return r
}

// order lists the joins, one group after the other, or first all groups' first
// members, then their second ones, and so on.
func (j *joiner) order() (all []mad.MCMemberRecord, groupOf []int) {
	add := func(group int, member fabric.End) {
		all = append(all, j.record(group, member))
		groupOf = append(groupOf, group)
	}
	for i, g := range j.groups {
		if !j.together {
			for _, member := range g.Members {
				add(i, member)
			}
		}
	}
	for n, more := 0, j.together; more; n++ {
		more = false
		for i, g := range j.groups {
			if n < len(g.Members) {
				add(i, g.Members[n])
				more = true
			}
		}
	}
	return all, groupOf
}

// join joins for all, with the client's usual window. As many processors as the
// client has are left to the manager.
func (j *joiner) join(ctx context.Context) error {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(max(1, runtime.NumCPU()/2)))
	all, groupOf := j.order()
	j.got.members = len(all)
	j.mlids = make([]ib.MLID, len(j.groups))
	mask := sa.MCMemberCreate
	if j.collected {
		mask |= mad.MCMemberRecordMemberCount
	}
	var failed error
	err := sa.New(j.port, sa.Options{}).JoinAll(ctx, all, mask, func(i int, r mad.MCMemberRecord, err error) {
		if err != nil && failed == nil {
			failed = fmt.Errorf("join of group %d: %w", groupOf[i], err)
		}
		j.mlids[groupOf[i]] = r.MLID
	})
	if err == nil {
		err = failed
	}
	return err
}

// oneMore joins the first group for an adapter that is not in it; where all
// are, nothing happens.
func (j *joiner) oneMore(ctx context.Context) error {
	for _, member := range j.view.Fabric.EndPorts() {
		if j.view.Fabric.Node(member.Node).Kind == fabric.Switch || slices.Contains(j.groups[0].Members, member) {
			continue
		}
		return j.joinOne(ctx, member)
	}
	return nil
}

func (j *joiner) joinOne(ctx context.Context, member fabric.End) error {
	before, err := j.meter.read(ctx)
	if err != nil {
		return err
	}
	start := time.Now()
	after, _, err := j.meter.watched(ctx, func() error {
		_, err := sa.New(j.port, sa.Options{}).Join(ctx, j.record(0, member), sa.MCMemberCreate)
		return err
	})
	if err != nil {
		return fmt.Errorf("one more join: %w", err)
	}
	j.got.oneSets, j.got.oneTime = after.sets-before.sets, after.last.Sub(start)
	tables, err := readMFTs(ctx, j.port, j.view, slices.Max(j.mlids))
	if err != nil {
		return err
	}
	j.got.oneCells = tables.changes(j.tables)
	return tables.check(j.view.Fabric, append(slices.Clone(j.groups[0].Members), member), j.mlids[0])
}
