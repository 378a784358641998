package ibv

import (
	"errors"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"heddle/ib"
	"heddle/verbs"
)

// table is what a RoCE port has: each address as v1 and as v2.
func table() (t []verbs.GIDEntry) {
	for i, text := range []string{"fe80::1", "fe80::1", "2001:db8::1", "2001:db8::1", "::ffff:10.0.0.1", "::ffff:10.0.0.1"} {
		t = append(t, verbs.GIDEntry{GID: ib.MustParseGID(text), Index: i, Type: verbs.GIDRoCEv1 + verbs.GIDType(i%2)})
	}
	return t
}

func TestChooseGID(t *testing.T) {
	ip4, ip6 := ib.MustParseGID("::ffff:10.0.0.1"), ib.MustParseGID("2001:db8::1")
	for name, test := range map[string]struct {
		table []verbs.GIDEntry
		link  verbs.LinkLayer
		wish  gidWish
		want  int
	}{
		"furthest":         {table(), verbs.LinkEthernet, gidWish{}, 5},
		"without IPv4":     {table()[:4], verbs.LinkEthernet, gidWish{}, 3},
		"v1 only":          {[]verbs.GIDEntry{table()[0], table()[2]}, verbs.LinkEthernet, gidWish{}, 2},
		"link-local v2":    {table()[:3], verbs.LinkEthernet, gidWish{}, 1},
		"first of IB":      {table(), verbs.LinkInfiniBand, gidWish{}, 0},
		"by GID":           {table(), verbs.LinkEthernet, gidWish{gid: ip6}, 3},
		"by type":          {table(), verbs.LinkEthernet, gidWish{kind: verbs.GIDRoCEv1}, 4},
		"by both":          {table(), verbs.LinkEthernet, gidWish{gid: ip6, kind: verbs.GIDRoCEv1}, 2},
		"for an IPv6 peer": {table(), verbs.LinkEthernet, gidWish{family: ip6}, 3},
		"for an IPv4 peer": {table(), verbs.LinkEthernet, gidWish{family: ip4}, 5},
	} {
		if got, err := chooseGID(test.table, test.link, test.wish); got.Index != test.want || err != nil {
			t.Errorf("%s: %+v, %v, want %d", name, got, err, test.want)
		}
	}
	_, err := chooseGID(table()[:2], verbs.LinkEthernet, gidWish{gid: ip4, kind: verbs.GIDRoCEv2})
	const want = "no GID ::ffff:10.0.0.1 of type RoCE v2 in the port's table, which has 0: fe80::1 (RoCE v1), 1: fe80::1 (RoCE v2): "
	if !errors.Is(err, verbs.ErrNotFound) || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
	if _, err := chooseGID(nil, verbs.LinkEthernet, gidWish{family: ip4}); err == nil || !strings.Contains(err.Error(), "has none") {
		t.Errorf("empty table: %v", err)
	}
}

func TestReachable(t *testing.T) {
	from := table()[5]
	peer := func(text string, kind verbs.GIDType, link verbs.LinkLayer) *verbs.EndpointAttr {
		return &verbs.EndpointAttr{Link: link, GID: ib.MustParseGID(text), GIDType: kind}
	}
	for _, test := range []struct {
		to *verbs.EndpointAttr
		ok bool
	}{
		{peer("::ffff:10.0.0.2", verbs.GIDRoCEv2, verbs.LinkEthernet), true},
		{peer("::ffff:10.0.0.2", verbs.GIDRoCEv1, verbs.LinkEthernet), false},
		{peer("2001:db8::2", verbs.GIDRoCEv2, verbs.LinkEthernet), false},
		{peer("fe80::2", verbs.GIDInfiniBand, verbs.LinkInfiniBand), false},
	} {
		if err := reachable(verbs.LinkEthernet, from, test.to); (err == nil) != test.ok {
			t.Errorf("to %+v: %v", test.to, err)
		}
	}
	to := peer("::ffff:10.0.0.2", verbs.GIDRoCEv2, verbs.LinkEthernet)
	for port, ok := range map[uint16]bool{0: true, 4791: true, 4792: false} {
		if to.Port = port; (reachable(verbs.LinkEthernet, from, to) == nil) != ok {
			t.Errorf("by UDP port %d it is %v", port, !ok)
		}
	}
	if err := reachable(verbs.LinkInfiniBand, table()[0], peer("fe80::2", verbs.GIDInfiniBand, verbs.LinkInfiniBand)); err != nil {
		t.Error(err)
	}
}

func TestTimers(t *testing.T) {
	for _, test := range []struct {
		d        time.Duration
		ack, rnr uint8
	}{
		{0, 1, 1},
		{time.Nanosecond, 1, 1},
		{8192 * time.Nanosecond, 1, 1},
		{8193 * time.Nanosecond, 2, 1},
		{640 * time.Microsecond, 8, 12},
		{641 * time.Microsecond, 8, 13},
		{67 * time.Millisecond, 14, 26},
		{491520 * time.Microsecond, 17, 31},
		{500 * time.Millisecond, 17, 0},
		{20 * time.Hour, 31, 0},
	} {
		if ack, rnr := ackTimeout(test.d), rnrTimer(test.d); ack != test.ack || rnr != test.rnr {
			t.Errorf("%v: %d and %d, want %d and %d", test.d, ack, rnr, test.ack, test.rnr)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(0, int64(2*time.Hour)).Draw(t, "d"))
		code := ackTimeout(d)
		if is := 4096 * time.Nanosecond << code; is < d || code > 1 && is/2 >= d {
			t.Fatalf("%v has code %d, %v", d, code, is)
		}
	})
}
