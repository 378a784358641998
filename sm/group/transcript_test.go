package group

import (
	"errors"
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

	"heddle/ib"
)

var update = flag.Bool("update", false, "write what the transcripts of testdata give")

// TestTranscripts runs the commands of testdata/*.txt. What one prints stands
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
	s := newScript(t)
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "\t") {
			continue
		}
		s.out.WriteString(line)
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			s.run(strings.Fields(line))
			s.checkCopy()
		}
	}
	return s.out.String()
}

// script runs commands on a table, and has a second table follow its journal.
type script struct {
	t      *testing.T
	config Config
	table  *Table
	copy   *Table
	start  time.Time
	now    time.Time
	ports  map[string]*Port
	names  map[ib.GID]string
	out    strings.Builder
}

const prefix = 0xfec0_0000_0000_0001

func newScript(t *testing.T) *script {
	s := &script{t: t, start: time.Unix(1_000_000, 0), ports: map[string]*Port{}, names: map[ib.GID]string{}}
	s.now = s.start
	s.config = Config{Prefix: prefix, JoinLimit: 10 * time.Second, LeaveLimit: 20 * time.Second, Journal: s.journal}
	s.reset()
	return s
}

func (s *script) reset() {
	table, err := New(s.config)
	follower, err2 := New(Config{})
	if err := errors.Join(err, err2); err != nil {
		s.t.Fatal(err)
	}
	s.table, s.copy = table, follower
}

// checkCopy holds that whoever applied the journal has the same groups, and
// that a table restored from a snapshot has.
func (s *script) checkCopy() {
	want := stateOf(s.table)
	if diff := cmp.Diff(want, stateOf(s.copy)); diff != "" {
		s.t.Fatalf("the journal gives another state (-want +got):\n%s", diff)
	}
	restored, err := Restore(s.config, s.table.AppendSnapshot(nil))
	if err != nil {
		s.t.Fatal(err)
	}
	if diff := cmp.Diff(want, stateOf(restored)); diff != "" {
		s.t.Fatalf("the snapshot gives another state (-want +got):\n%s", diff)
	}
	checkTable(s.t, s.table)
}

func (s *script) print(format string, args ...any) { fmt.Fprintf(&s.out, "\t"+format+"\n", args...) }

func (s *script) name(gid ib.GID) string {
	if name, ok := s.names[gid]; ok {
		return name
	}
	return gid.String()
}

func (s *script) journal(e Entry) {
	if err := s.copy.Apply(e); err != nil {
		s.t.Errorf("%+v: %v", e, err)
	}
	line := []string{e.Kind.String()}
	add := func(present bool, format string, value any) {
		if present {
			line = append(line, fmt.Sprintf(format, value))
		}
	}
	add(e.MGID != ib.MGID{}, "%v", e.MGID)
	add(e.MLID != 0, "mlid %v", e.MLID)
	add(e.Port != ib.GID{}, "port %v", s.name(e.Port))
	add(e.Requester != ib.GID{}, "by %v", s.name(e.Requester))
	add(e.JoinState != 0, "%v", e.JoinState)
	add(e.Params != Params{}, "%v", paramsText(e.Params))
	add(e.Count != 0, "count %v", e.Count)
	add(e.State != 0, "%v", e.State)
	add(e.Deadline != 0, "until %v", instant(e.Deadline).Sub(s.start))
	add(e.Configured, "%v", "configured")
	add(e.Retires, "%v", "retires")
	add(e.Notice() != 0, "(trap %v)", e.Notice())
	add(e.Kind == EntryResumed, "epoch %v", e.Epoch)
	s.print("%s", strings.Join(line, " "))
}

func paramsText(p Params) string {
	text := fmt.Sprintf("[%v %v, %v]", p.PKey, p.MTU, p.Rate)
	if p.Lifetime != 18 {
		text += fmt.Sprintf(" lifetime %d", p.Lifetime)
	}
	return text
}

// run runs one command.
func (s *script) run(f []string) {
	args := f[1:]
	switch f[0] {
	case "config":
		s.configure(args)
	case "port":
		s.port(args)
	case "join":
		s.answer(s.table.Join(s.now, s.request(args)))
	case "leave":
		s.answer(s.table.Leave(s.now, s.request(args)))
	case "gone":
		s.table.PortGone(s.now, s.gid(args[0]))
	case "advance":
		s.now = s.now.Add(s.duration(args[0]))
		s.table.Advance(s.now)
	case "name":
		s.nameGroups(args)
	case "reserve":
		mlid := ib.MLID(s.number(args[1]))
		s.table.reserve(s.now, []reservation{{ib.MustParseMGID(args[0]), mlid}})
	case "unreserve":
		s.table.unreserve(s.now)
	case "cap":
		s.table.SetCap(s.number(args[0]))
	default:
		s.work(f[0], args)
	}
}

// work runs the commands of the manager's shell.
func (s *script) work(command string, args []string) {
	switch command {
	case "take":
		s.take(args)
	case "programmed":
		s.table.Programmed(s.now, uint64(s.number(args[0])))
	case "removed":
		s.table.Removed(s.now, uint64(s.number(args[0])))
	case "failed":
		s.table.Failed(s.now, uint64(s.number(args[0])))
	case "reroute":
		s.table.Reroute(s.now, ib.MLID(s.number(args[0])))
	case "ports":
		p := s.table.Ports(ib.MLID(s.number(args[0])), Ports{})
		s.print("receivers %v, senders %v", s.sorted(p.Receivers), s.sorted(p.Senders))
	case "show":
		s.show()
	case "restart": // from what the disk holds; the epoch is given
		restored, err := Restore(s.config, s.table.AppendSnapshot(nil))
		if err != nil {
			s.t.Fatal(err)
		}
		s.table = restored
		s.resume(args[0])
	case "failover": // to the one that followed the journal
		s.table = s.copy
		s.table.config = s.config
		follower, err := Restore(Config{}, s.table.AppendSnapshot(nil))
		if err != nil {
			s.t.Fatal(err)
		}
		s.copy = follower
		s.resume(args[0])
	default:
		s.t.Fatalf("unknown command %s", command)
	}
}

func (s *script) resume(epoch string) {
	if err := s.table.Resume(s.now, uint64(s.number(epoch))); err != nil {
		s.print("%v", err)
	}
}

func (s *script) configure(args []string) {
	c := &s.config
	for _, arg := range args {
		key, value, _ := strings.Cut(arg, "=")
		switch key {
		case "cap":
			c.Cap = s.number(value)
		case "share":
			c.Share = true
		case "solicited":
			c.ShareSolicitedNode = true
		case "groups":
			c.Limits.Groups = s.number(value)
		case "proxied":
			c.Limits.Proxied = s.number(value)
		case "pending":
			c.Limits.Pending = s.number(value)
		case "total-groups":
			c.Limits.TotalGroups = s.number(value)
		case "total-members":
			c.Limits.TotalMembers = s.number(value)
		default:
			s.t.Fatalf("unknown setting %s", arg)
		}
	}
	s.reset()
}

// port defines a port: its name, and where they differ from the usual its MTU,
// rate and P_Keys.
func (s *script) port(args []string) {
	for _, name := range args {
		if strings.Contains(name, "=") {
			continue
		}
		p := &Port{
			GID: ib.NewGID(prefix, ib.GUID(len(s.ports)+1)), MTU: ib.MTU4096, Rate: ib.Rate100,
			PKeys: []ib.PKey{0, ib.DefaultPKey},
		}
		for _, arg := range args {
			s.setPort(p, arg)
		}
		s.ports[name], s.names[p.GID] = p, name
	}
}

func (s *script) setPort(p *Port, arg string) {
	key, value, _ := strings.Cut(arg, "=")
	switch key {
	case "mtu":
		p.MTU = ib.MTUFromBytes(s.number(value))
	case "rate":
		p.Rate = ib.RateFromGbps(float64(s.number(value)))
	case "pkeys":
		p.PKeys = nil
		for key := range strings.SplitSeq(value, ",") {
			p.PKeys = append(p.PKeys, ib.PKey(s.number(key)))
		}
	}
}

// request reads PORT MGID [KEY=VALUE...]. A join gives all components unless it
// is bare.
func (s *script) request(args []string) *Request {
	r := &Request{
		PortGID: s.gid(args[0]), Member: s.ports[args[0]], Requester: s.ports[args[0]],
		Has: CreateComponents, JoinState: FullMember, Params: Params{PKey: ib.DefaultPKey},
	}
	if args[1] != "new" {
		r.MGID = ib.MustParseMGID(args[1])
	}
	for _, arg := range args[2:] {
		key, value, _ := strings.Cut(arg, "=")
		s.set(r, key, value)
	}
	return r
}

func (s *script) set(r *Request, key, value string) {
	switch key {
	case "as":
		r.JoinState = joinStates(value)
	case "mc":
		r.MemberCount = uint32(s.number(value))
	case "by":
		r.Requester = s.ports[value]
	case "bare":
		r.Has = JoinComponents
	case "pkey":
		r.PKey, r.Has = ib.PKey(s.number(value)), r.Has|HasPKey
	case "qkey":
		r.QKey, r.Has = ib.QKey(s.number(value)), r.Has|HasQKey
	case "sl":
		r.SL, r.Has = ib.SL(s.number(value)), r.Has|HasSL
	case "flow":
		r.FlowLabel, r.Has = uint32(s.number(value)), r.Has|HasFlowLabel
	case "tclass":
		r.TClass, r.Has = uint8(s.number(value)), r.Has|HasTClass
	case "hops":
		r.HopLimit, r.Has = uint8(s.number(value)), r.Has|HasHopLimit
	case "mlid":
		r.MLID, r.Has = ib.MLID(s.number(value)), r.Has|HasMLID
	case "scope":
		r.Scope, r.Has = ib.Scope(s.number(value)), r.Has|HasScope
	default:
		s.selectors(r, key, value)
	}
}

// selectors reads mtu=exactly:2048 and the like.
func (s *script) selectors(r *Request, key, value string) {
	word, number, _ := strings.Cut(value, ":")
	selector := Selector(slices.Index([]string{"greater", "less", "exactly", "largest"}, word))
	n := 0
	if number != "" {
		n = s.number(number)
	}
	switch key {
	case "mtu":
		r.MTUSelector, r.MTU, r.Has = selector, ib.MTUFromBytes(n), r.Has|HasMTUSelector|HasMTU
	case "rate":
		r.RateSelector, r.Rate, r.Has = selector, ib.RateFromGbps(float64(n)), r.Has|HasRateSelector|HasRate
	case "lifetime":
		r.LifetimeSelector, r.Lifetime, r.Has = selector, uint8(n), r.Has|HasLifetimeSelector|HasLifetime
	default:
		s.t.Fatalf("unknown field %s", key)
	}
}

// joinStates reads names of bits, or their number.
func joinStates(text string) JoinState {
	if n, err := strconv.ParseUint(text, 0, 8); err == nil {
		return JoinState(n)
	}
	var all JoinState
	for word := range strings.SplitSeq(text, "|") {
		all |= 1 << slices.Index(joinStateNames[:], word)
	}
	return all
}

func (s *script) answer(j Joined, err error) {
	refusal := (*Refusal)(nil)
	if errors.As(err, &refusal) {
		s.print("%v: %v %v", refusal.Code(), refusal.Reason, refusal.Components)
		return
	}
	g := j.Group
	s.print("ok: %v mlid %v, %v %v, %d members, %v", g.MGID, g.MLID, s.name(j.Member.Port), j.Member.JoinState, g.Members, g.State)
}

func (s *script) nameGroups(args []string) {
	var list []Configured
	for _, arg := range args {
		mgid, mtu, _ := strings.Cut(arg, "/")
		p := Params{PKey: ib.DefaultPKey, QKey: 0xb1b, MTU: ib.MTU2048, Rate: ib.Rate10, Lifetime: 18}
		if mtu != "" {
			p.MTU = ib.MTUFromBytes(s.number(mtu))
		}
		list = append(list, Configured{MGID: ib.MustParseMGID(mgid), Params: p})
	}
	kept, err := s.table.Configure(s.now, list)
	if len(kept) > 0 {
		s.print("keep their parameters: %v", kept)
	}
	if err != nil {
		s.print("%v", strings.ReplaceAll(err.Error(), "\n", "\n\t"))
	}
}

func (s *script) take(args []string) {
	kinds := Everything
	if len(args) > 0 {
		kinds = map[string]Kinds{"changes": Changes, "completions": Completions, "vanishings": Vanishings}[args[0]]
	}
	b := s.table.Take(s.now, kinds)
	if b.ID == 0 {
		s.print("nothing to do")
		return
	}
	s.print("batch %d: complete %v, changed %v, vanished %v", b.ID, b.Complete, b.Changed, b.Vanished)
}

func (s *script) show() {
	for g := range s.table.Groups() {
		until := ""
		if !g.Deadline.IsZero() {
			until = fmt.Sprintf(" until %v", g.Deadline.Sub(s.start))
		}
		s.print("%v mlid %v %v %d/%d%s", g.MGID, g.MLID, g.State, g.Members, g.MemberCount, until)
		for m := range s.table.Members(g.MGID) {
			by := ""
			if m.Proxy {
				by = " by " + s.name(m.Requester)
			}
			s.print("  %s %v%s", s.name(m.Port), m.JoinState, by)
		}
	}
	stats := s.table.Stats()
	s.print("%+v", stats)
}

func (s *script) sorted(gids []ib.GID) []string {
	var names []string
	for _, gid := range gids {
		names = append(names, s.name(gid))
	}
	slices.Sort(names)
	return names
}

func (s *script) gid(name string) ib.GID {
	if p := s.ports[name]; p != nil {
		return p.GID
	}
	return ib.MustParseGID(name)
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
