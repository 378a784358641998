package group

import (
	"encoding/hex"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"heddle/ib"
)

func TestEntryBytes(t *testing.T) {
	mgid, port := ib.MustParseMGID("ff12::1"), ib.NewGID(ib.DefaultPrefix, 5)
	for _, c := range []struct {
		name  string
		entry Entry
		want  string
	}{
		{"least", Entry{Kind: EntryUnreserved, Seq: 1}, "01" + "09" + "01" + "00" + "00" + "00"},
		{
			"member",
			Entry{Kind: EntryMember, Seq: 300, Epoch: 2, At: 64, MGID: mgid, Port: port, JoinState: FullMember},
			"01" + "03" + "ac02" + "02" + "8001" + "15" + "ff120000000000000000000000000001" + "fe800000000000000000000000000005" + "01",
		},
		{
			"created",
			Entry{
				Kind: EntryCreated, Seq: 1, MGID: mgid, MLID: 0xc001, Port: port, Count: 16, State: ReceivingJoinReq, Deadline: 1,
				Params: Params{QKey: 0xb1b, PKey: 0xffff, MTU: ib.MTU4096, Rate: ib.Rate100, Lifetime: 18, SL: 3, TClass: 4, HopLimit: 5, FlowLabel: 6},
			},
			"01" + "01" + "01" + "00" + "00" + "e701" + "ff120000000000000000000000000001" + "c001" + "fe800000000000000000000000000005" +
				"00000b1b" + "ffff" + "05" + "10" + "12" + "03" + "04" + "05" + "00000006" + "10" + "01" + "02",
		},
		{
			"proxied",
			Entry{Kind: EntryMember, Seq: 1, Requester: port, Configured: true, Retires: true},
			"01" + "03" + "01" + "00" + "00" + "8806" + "fe800000000000000000000000000005",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := c.entry.AppendTo(nil)
			if got := hex.EncodeToString(b); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			got, rest, err := ParseEntry(append(b, 0xee))
			if err != nil || got != c.entry || len(rest) != 1 {
				t.Errorf("parsed %+v, rest %x, %v", got, rest, err)
			}
			for n := range b {
				if e, _, err := ParseEntry(b[:n]); !errors.Is(err, ErrEncoding) || e != (Entry{}) {
					t.Errorf("the first %d bytes gave %+v, %v", n, e, err)
				}
			}
		})
	}
}

func TestParseEntryRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"version":          "02" + "09" + "01" + "00" + "00" + "00",
		"no kind":          "01" + "00" + "01" + "00" + "00" + "00",
		"kind":             "01" + "0e" + "01" + "00" + "00" + "00",
		"field":            "01" + "09" + "01" + "00" + "00" + "8008",
		"number too long":  "01" + "09" + "ffffffffffffffffffff01" + "00" + "00" + "00",
		"count of 33 bits": "01" + "09" + "01" + "00" + "00" + "40" + "8080808010",
	} {
		b, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		if e, rest, err := ParseEntry(b); !errors.Is(err, ErrEncoding) || e != (Entry{}) || rest != nil {
			t.Errorf("%s: %+v, %x, %v", name, e, rest, err)
		}
	}
}

func anyEntry(t *rapid.T) Entry {
	gid := func(label string) ib.GID {
		return ib.NewGID(rapid.Uint64().Draw(t, label), ib.GUID(rapid.Uint64().Draw(t, label)))
	}
	return Entry{
		Seq: rapid.Uint64().Draw(t, "seq"), Epoch: rapid.Uint64().Draw(t, "epoch"), At: rapid.Int64().Draw(t, "at"),
		Kind: EntryKind(rapid.IntRange(int(EntryCreated), int(EntryRetiring)).Draw(t, "kind")),
		MGID: ib.MGID(gid("mgid")), MLID: ib.MLID(rapid.Uint16().Draw(t, "mlid")), Port: gid("port"), Requester: gid("requester"),
		JoinState: JoinState(rapid.Byte().Draw(t, "join")), Count: rapid.Uint32().Draw(t, "count"),
		State: State(rapid.Byte().Draw(t, "state")), Deadline: rapid.Int64().Draw(t, "deadline"),
		Configured: rapid.Bool().Draw(t, "configured"), Retires: rapid.Bool().Draw(t, "retires"),
		Params: Params{
			QKey: ib.QKey(rapid.Uint32().Draw(t, "qkey")), PKey: ib.PKey(rapid.Uint16().Draw(t, "pkey")),
			MTU: ib.MTU(rapid.Byte().Draw(t, "mtu")), Rate: ib.Rate(rapid.Byte().Draw(t, "rate")), Lifetime: rapid.Byte().Draw(t, "lifetime"),
			SL: ib.SL(rapid.Byte().Draw(t, "sl")), TClass: rapid.Byte().Draw(t, "tclass"), HopLimit: rapid.Byte().Draw(t, "hops"),
			FlowLabel: rapid.Uint32().Draw(t, "flow"),
		},
	}
}

func TestEntryRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := anyEntry(t)
		got, rest, err := ParseEntry(e.AppendTo(nil))
		if err != nil || len(rest) != 0 {
			t.Fatal(rest, err)
		}
		if diff := cmp.Diff(e, got); diff != "" {
			t.Errorf("entry (-want +got):\n%s", diff)
		}
	})
}

func FuzzParseEntry(f *testing.F) {
	f.Add(Entry{Kind: EntryUnreserved, Seq: 1}.AppendTo(nil))
	for _, e := range sampleJournal(f) {
		f.Add(e.AppendTo(nil))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		e, rest, err := ParseEntry(b)
		if err != nil {
			if e != (Entry{}) || rest != nil {
				t.Fatalf("%v with %+v", err, e)
			}
			return
		}
		again, rest, err := ParseEntry(e.AppendTo(nil))
		if err != nil || again != e || len(rest) != 0 {
			t.Fatalf("%+v became %+v, rest %x, %v", e, again, rest, err)
		}
	})
}

// FuzzApply gives a table any journal, and a new one any snapshot: what they
// take holds together.
func FuzzApply(f *testing.F) {
	var journal []byte
	for _, e := range sampleJournal(f) {
		journal = e.AppendTo(journal)
	}
	f.Add(journal)
	f.Add(sampleTable(f, nil).AppendSnapshot(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		if restored, err := Restore(Config{}, b); err == nil {
			checkTaken(t, restored)
		}
		table := newTable(t, Config{})
		for rest := b; len(rest) > 0; {
			e, after, err := ParseEntry(rest)
			if err != nil {
				break
			}
			e.Seq = table.Seq() + 1
			if e.Kind != EntryResumed {
				e.Epoch = table.Epoch()
			}
			applyWhole(t, table, e)
			rest = after
		}
		checkTaken(t, table)
	})
}

// TestApplyAnything gives a table entries that could fit, and mostly do not.
func TestApplyAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table, err := New(Config{})
		if err != nil {
			t.Fatal(err)
		}
		few := func(label string) int { return rapid.IntRange(0, 2).Draw(t, label) }
		for range rapid.IntRange(1, 60).Draw(t, "entries") {
			e := Entry{
				Seq: table.Seq() + 1, Epoch: table.Epoch(), At: int64(few("at")),
				Kind: EntryKind(rapid.IntRange(0, int(EntryRetiring)).Draw(t, "kind")),
				MGID: testMGID(few("mgid")), MLID: ib.FirstMLID - 1 + ib.MLID(few("mlid")), Port: testPort(few("port")).GID,
				Requester:  rapid.SampledFrom([]ib.GID{{}, testPort(1).GID}).Draw(t, "requester"),
				JoinState:  JoinState(rapid.IntRange(0, 16).Draw(t, "join")),
				Params:     Params{PKey: ib.PKey(few("pkey")), MTU: ib.MTU4096, Rate: ib.Rate10},
				Count:      uint32(few("count")),
				State:      State(rapid.IntRange(0, 6).Draw(t, "state")),
				Deadline:   int64(few("deadline")),
				Configured: few("configured") == 0, Retires: few("retires") == 0,
			}
			if rapid.Bool().Draw(t, "plain") {
				e.Count, e.State, e.Deadline = 0, 0, 0
			}
			if e.Configured {
				e.Port = ib.GID{}
			}
			if e.Kind == EntryResumed {
				e.Epoch += uint64(few("epoch"))
			}
			applyWhole(t, table, e)
		}
		checkTaken(t, table)
	})
}

// applyWhole holds that an entry is applied, or changes nothing.
func applyWhole(t failer, table *Table, e Entry) {
	before := stateOf(table)
	if err := table.Apply(e); err != nil {
		if after := stateOf(table); !slices.Equal(before, after) {
			t.Fatalf("%+v was refused, with %v, and changed (-before +after):\n%s", e, err, cmp.Diff(before, after))
		}
	}
}

// checkTaken holds that a manager can go on with a table.
func checkTaken(t failer, table *Table) {
	restored, err := Restore(Config{}, table.AppendSnapshot(nil))
	if err != nil {
		t.Fatalf("%v", err)
	}
	if want, got := stateOf(table), stateOf(restored); !slices.Equal(want, got) {
		t.Fatalf("the snapshot gives another state (-want +got):\n%s", cmp.Diff(want, got))
	}
	if table.Epoch()+1 == 0 {
		return
	}
	if err := table.Resume(start, table.Epoch()+1); err != nil {
		t.Fatalf("%v", err)
	}
	checkTable(t, table)
	b := table.Take(start, Everything)
	table.Removed(start, b.ID)
	table.Programmed(start, b.ID)
	for at, ok := table.NextDeadline(); ok; at, ok = table.NextDeadline() {
		table.Advance(at)
	}
	checkTable(t, table)
}

// sampleTable has groups of all kinds and states.
func sampleTable(t testing.TB, journal func(Entry)) *Table {
	t.Helper()
	table := newTable(t, Config{Cap: 6, Share: true, Journal: journal})
	collected := func(m, n int, count uint32) *Request {
		r := plainJoin(m, n)
		r.MemberCount = count
		return r
	}
	if _, err := table.Configure(start, []Configured{{MGID: testMGID(9), Params: Params{PKey: ib.DefaultPKey, MTU: ib.MTU2048, Rate: ib.Rate10}}}); err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= 2; n++ {
		for m := 1; m <= 5; m++ {
			mustJoin(t, table, collected(m, n, uint32(2+m/5)))
		}
		mustJoin(t, table, plainJoin(6, n))
		proxied := plainJoin(7, n)
		proxied.Requester = testPort(8)
		mustJoin(t, table, proxied)
	}
	b := table.Take(start, Everything)
	table.Programmed(start, b.ID)
	for n := 1; n <= 2; n++ {
		for m := n + 2; m <= 4; m++ {
			if _, err := table.Leave(start, collected(m, n, 2)); err != nil {
				t.Fatal(err)
			}
		}
	}
	table.reserve(start, []reservation{{testMGID(77), ib.FirstMLID + 8}})
	if err := table.Resume(start, 1); err != nil {
		t.Fatal(err)
	}
	return table
}

func sampleJournal(t testing.TB) []Entry {
	t.Helper()
	var entries []Entry
	sampleTable(t, func(e Entry) { entries = append(entries, e) })
	return entries
}

func TestSampleHasAllStates(t *testing.T) {
	table := sampleTable(t, nil)
	checkTable(t, table)
	var states [Destroying + 1]int
	for g := range table.Groups() {
		states[g.State]++
	}
	if s := table.Stats(); s.Shared == 0 {
		t.Errorf("%+v: nothing is shared", s)
	}
	for s, n := range states {
		if n == 0 && State(s) != ComputingRoutes {
			t.Errorf("no group in %v", State(s))
		}
	}
}
