package ibsim_test

import (
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"heddle/ib"
	"heddle/ibsim"
	"heddle/mad"
)

// The golden bytes were recorded on a little-endian host. The answers are those
// of Debian's ibsim 0.10 with its example net.1. What umad2sim asked is that of
// Debian's libumad2sim.so 0.10, seen by strace below smpquery; the rest was
// asked by a script.
var golden = []struct {
	name  string
	bytes string // without the zeros at the end
	want  ibsim.Control
}{
	{
		"umad2sim's CONNECT to the default node",
		"efbeadde00000000010000002c00000027170000",
		request(0, ibsim.TypeConnect, ibsim.Connect{ID: 5927}),
	},
	{
		"its answer",
		"efbeadde00000000010000002c000000000000000000000000000000537769746368310000",
		request(0, ibsim.TypeConnect, ibsim.Connect{Node: "Switch1"}),
	},
	{
		"CONNECT with a queue pair",
		"efbeadde00000000010000002c00000031de0b002a0000000000000048636131",
		request(0, ibsim.TypeConnect, ibsim.Connect{ID: 777777, QP: 42, Node: "Hca1"}),
	},
	{
		"answer of CONNECT to an unknown node",
		"efbeadde00000000000000002c00000031de0b002a000000000000006e6f626f6479",
		request(0, ibsim.TypeConnect, ibsim.Connect{ID: 777777, QP: 42, Node: "nobody"}).Failed(),
	},
	{
		"umad2sim's DISCONNECT",
		"efbeadde0000000002",
		ibsim.NewControl(0, ibsim.TypeDisconnect, nil),
	},
	{
		"answer of GET_PORT",
		"efbeadde0000000003000000000000000000020000",
		answer(ibsim.TypePort, ibsim.Port{State: mad.PortInit}),
	},
	{
		"answer of GET_VENDOR to umad2sim",
		"efbeadde000000000400000018000000" + "0000000000000000a1000000000000000100000000000000",
		request(0, ibsim.TypeVendor, ibsim.Vendor{Hardware: 0xa1, Firmware: 1}),
	},
	{
		"answer of GET_GID",
		"efbeadde000000000500000000000000" + "fe800000000000000000100000000000",
		answer(ibsim.TypeGID, ibsim.GID{GID: ib.MustParseGID("fe80::10:0000")}),
	},
	{
		"answer of GET_GUID",
		"efbeadde000000000600000000000000" + "0000100000000000",
		answer(ibsim.TypeGUID, ibsim.GUID(0x100000)),
	},
	{
		"SET_ISSM",
		"efbeadde00000000090000000400000001",
		request(0, ibsim.TypeIsSM, ibsim.IsSM(true)),
	},
	{
		"answer of GET_PKEYS",
		"efbeadde000000000a00000000000000ffff",
		answer(ibsim.TypePKeys, ibsim.PKeys{0xffff}),
	},
}

func request(client uint32, t ibsim.Type, body ibsim.Body) ibsim.Control {
	return ibsim.NewControl(client, t, body)
}

// answer is what ibsim answers to a request that told no length: it leaves it.
func answer(t ibsim.Type, body ibsim.Body) ibsim.Control {
	c := ibsim.NewControl(0, t, body)
	c.Len = 0
	return c
}

// unhex reads hexadecimal digits and fills up with zeros.
func unhex(t testing.TB, digits string, size int) []byte {
	t.Helper()
	if len(digits)%2 != 0 {
		digits += "0"
	}
	b, err := hex.DecodeString(digits)
	if err != nil {
		t.Fatal(err)
	}
	return append(b, make([]byte, size-len(b))...)
}

func TestControlGolden(t *testing.T) {
	for _, test := range golden {
		t.Run(test.name, func(t *testing.T) {
			b := unhex(t, test.bytes, ibsim.ControlSize)
			got, err := ibsim.ParseControl(b)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("parsed (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(b, test.want.AppendTo(nil)); diff != "" {
				t.Errorf("bytes (-want +got):\n%s", diff)
			}
		})
	}
}

// TestBodies reads what the golden messages were made of.
func TestBodies(t *testing.T) {
	for _, test := range golden {
		body := test.want.Data[:]
		got := parseBody(t, test.want.Type, body)
		if got == nil {
			continue
		}
		again := ibsim.NewControl(0, test.want.Type, got)
		if diff := cmp.Diff(body, again.Data[:]); diff != "" {
			t.Errorf("%s: body (-want +got):\n%s", test.name, diff)
		}
	}
}

func parseBody(t *testing.T, typ ibsim.Type, b []byte) ibsim.Body {
	t.Helper()
	for _, p := range parsers {
		if p.typ == typ {
			body, err := p.parse(b)
			if err != nil {
				t.Fatalf("%v: %v", typ, err)
			}
			return body
		}
	}
	return nil
}

// parsers are all bodies but the attributes of package mad.
var parsers = []struct {
	typ   ibsim.Type
	parse func([]byte) (ibsim.Body, error)
	make  func(*rapid.T) ibsim.Body
}{
	{ibsim.TypeConnect, parser(ibsim.ParseConnect), func(t *rapid.T) ibsim.Body {
		return ibsim.Connect{
			ID: rapid.Uint32().Draw(t, "id"), QP: ib.QPN(rapid.Uint32().Draw(t, "qp")),
			IsSM: rapid.Bool().Draw(t, "sm"), Node: rapid.StringMatching(`[ -~]{0,31}`).Draw(t, "node"),
		}
	}},
	{ibsim.TypePort, parser(ibsim.ParsePort), func(t *rapid.T) ibsim.Body {
		return ibsim.Port{LID: ib.LID(rapid.Uint16().Draw(t, "lid")), State: mad.PortState(rapid.Byte().Draw(t, "state"))}
	}},
	{ibsim.TypeVendor, parser(ibsim.ParseVendor), func(t *rapid.T) ibsim.Body {
		u := rapid.Uint32()
		return ibsim.Vendor{
			ID: u.Draw(t, "id"), Part: u.Draw(t, "part"), Hardware: u.Draw(t, "hardware"),
			Firmware: rapid.Uint64().Draw(t, "firmware"),
		}
	}},
	{ibsim.TypeGID, parser(ibsim.ParseGID), func(t *rapid.T) ibsim.Body {
		return ibsim.GID{GID: ib.NewGID(rapid.Uint64().Draw(t, "prefix"), ib.GUID(rapid.Uint64().Draw(t, "guid")))}
	}},
	{ibsim.TypeGUID, parser(ibsim.ParseGUID), func(t *rapid.T) ibsim.Body {
		return ibsim.GUID(rapid.Uint64().Draw(t, "guid"))
	}},
	{ibsim.TypePortInfo, parser(ibsim.ParsePortNumber), func(t *rapid.T) ibsim.Body {
		return ibsim.PortNumber(rapid.Byte().Draw(t, "port"))
	}},
	{ibsim.TypeIsSM, parser(ibsim.ParseIsSM), func(t *rapid.T) ibsim.Body {
		return ibsim.IsSM(rapid.Bool().Draw(t, "sm"))
	}},
	{ibsim.TypePKeys, parser(ibsim.ParsePKeys), func(t *rapid.T) ibsim.Body {
		keys := ibsim.PKeys{}
		for range rapid.IntRange(0, 32).Draw(t, "number") {
			keys = append(keys, ib.PKey(rapid.Uint16Range(1, 0xffff).Draw(t, "key")))
		}
		return keys
	}},
	{ibsim.TypeRegister, parser(ibsim.ParseRegister), func(t *rapid.T) ibsim.Body {
		return ibsim.Register{
			Outcome: ibsim.Outcome(rapid.Uint32().Draw(t, "outcome")), Class: mad.Class(rapid.Byte().Draw(t, "class")),
			Version: rapid.Byte().Draw(t, "version"), OUI: rapid.Uint32().Draw(t, "oui"),
			Methods: ibsim.MethodSet{rapid.Uint64().Draw(t, "low"), rapid.Uint64().Draw(t, "high")},
		}
	}},
}

func parser[T ibsim.Body](parse func([]byte) (T, error)) func([]byte) (ibsim.Body, error) {
	return func(b []byte) (ibsim.Body, error) {
		v, err := parse(b)
		if err != nil {
			return nil, err
		}
		return v, nil
	}
}

func TestBodyRoundTrip(t *testing.T) {
	for _, p := range parsers {
		t.Run(p.typ.String(), rapid.MakeCheck(func(t *rapid.T) {
			want := p.make(t)
			b := want.AppendTo(nil)
			if len(b) != want.Len() {
				t.Fatalf("%d bytes, Len says %d", len(b), want.Len())
			}
			got, err := p.parse(b)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("(-want +got):\n%s", diff)
			}
			c, err := ibsim.ParseControl(ibsim.NewControl(7, p.typ, want).AppendTo(nil))
			if err != nil {
				t.Fatal(err)
			}
			if got, err = p.parse(c.Data[:]); err != nil || !cmp.Equal(want, got) {
				t.Fatalf("in a message %v, %v, want %v", got, err, want)
			}
		}))
	}
}

func TestEveryPrefixIsRefused(t *testing.T) {
	whole := ibsim.NewControl(1, ibsim.TypeConnect, ibsim.Connect{ID: 1}).AppendTo(nil)
	for n := range whole {
		if _, err := ibsim.ParseControl(whole[:n]); !errors.Is(err, ibsim.ErrMalformed) {
			t.Errorf("control message of %d bytes: %v", n, err)
		}
	}
	if _, err := ibsim.ParseControl(append(whole, 0)); !errors.Is(err, ibsim.ErrMalformed) {
		t.Errorf("control message of one byte more: %v", err)
	}
	for _, p := range parsers {
		b := rapid.Custom(p.make).Example(1).AppendTo(nil)
		if p.typ == ibsim.TypePKeys {
			continue // any number of whole entries is a table
		}
		for n := range b {
			if _, err := p.parse(b[:n]); !errors.Is(err, ibsim.ErrMalformed) {
				t.Errorf("%v of %d bytes: %v", p.typ, n, err)
			}
		}
	}
}

func TestPKeysRefused(t *testing.T) {
	for _, n := range []int{1, 63, 66} {
		if keys, err := ibsim.ParsePKeys(make([]byte, n)); !errors.Is(err, ibsim.ErrMalformed) {
			t.Errorf("%d bytes: %v, %v", n, keys, err)
		}
	}
}

func TestTooLongIsCut(t *testing.T) {
	name := strings.Repeat("n", 40)
	c := ibsim.NewControl(0, ibsim.TypeConnect, ibsim.Connect{Node: name})
	got, err := ibsim.ParseConnect(c.Data[:])
	if err != nil || got.Node != name[:31] {
		t.Errorf("node %q, %v", got.Node, err)
	}
	if n := len(ibsim.PKeys(make([]ib.PKey, 40)).AppendTo(nil)); n != ibsim.ControlDataSize {
		t.Errorf("40 keys are %d bytes", n)
	}
	if c := ibsim.NewControl(0, ibsim.TypeError, long(100)); c.Len != ibsim.ControlDataSize {
		t.Errorf("a body of 100 bytes has length %d", c.Len)
	}
}

// long is a body that is too long.
type long int

func (l long) Len() int                 { return int(l) }
func (l long) AppendTo(b []byte) []byte { return append(b, make([]byte, l)...) }

// TestUnknownTypeComesBack holds what Debian's ibsim 0.10 did with a Register:
// it sent the same bytes back.
func TestUnknownTypeComesBack(t *testing.T) {
	ask := ibsim.NewControl(0, ibsim.TypeRegister, ibsim.Register{Class: mad.ClassSA, Version: 2})
	reg, err := ibsim.ParseRegister(ask.Data[:])
	if err != nil || reg.Outcome != ibsim.OutcomeUnknown {
		t.Errorf("%v, %v, want an unknown outcome", reg, err)
	}
	granted := reg
	granted.Outcome = ibsim.OutcomeGranted
	if got := ask.Answer(granted); got.Type != ask.Type || got.Data == ask.Data {
		t.Errorf("the answer %v cannot be told from the request", got)
	}
}

func TestMethodSet(t *testing.T) {
	methods := []mad.Method{mad.MethodGet, mad.MethodReport, 0x7f}
	s := ibsim.NewMethodSet(append(methods, mad.MethodGetResp)...)
	for m := range mad.Method(255) {
		want := m == mad.MethodGet || m == mad.MethodReport || m == 0x7f
		if s.Has(m) != want {
			t.Errorf("has %v: %v", m, s.Has(m))
		}
	}
	if !s.Intersects(ibsim.NewMethodSet(0x7f)) || s.Intersects(ibsim.NewMethodSet(mad.MethodSet)) {
		t.Error("Intersects is wrong")
	}
}

func TestNamesOfValues(t *testing.T) {
	for _, test := range []struct{ got, want string }{
		{ibsim.TypeError.String(), "ERROR"},
		{ibsim.TypePKeys.String(), "GET_PKEYS"},
		{ibsim.TypeRegister.String(), "REGISTER"},
		{ibsim.Type(11).String(), "type(0xb)"},
		{ibsim.OutcomeTaken.String(), "taken"},
		{ibsim.Outcome(9).String(), "outcome(9)"},
	} {
		if test.got != test.want {
			t.Errorf("%q, want %q", test.got, test.want)
		}
	}
}

func FuzzParseControl(f *testing.F) {
	for _, test := range golden {
		f.Add(unhex(f, test.bytes, ibsim.ControlSize))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := ibsim.ParseControl(b)
		if err != nil {
			if c != (ibsim.Control{}) {
				t.Fatalf("an error and a result: %v, %v", c, err)
			}
			return
		}
		if diff := cmp.Diff(b, c.AppendTo(nil)); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
		for _, p := range parsers {
			again(t, p.parse, c.Data[:])
		}
	})
}

func FuzzParseBody(f *testing.F) {
	f.Add([]byte{}, uint8(0))
	f.Add([]byte("0123456789012345678901234567890123456789012345"), uint8(0))
	f.Fuzz(func(t *testing.T, b []byte, n uint8) {
		again(t, parsers[int(n)%len(parsers)].parse, b)
	})
}

// again checks that what parses is a value that is written and read back.
func again(t *testing.T, parse func([]byte) (ibsim.Body, error), b []byte) {
	t.Helper()
	v, err := parse(b)
	if err != nil {
		return
	}
	w, err := parse(v.AppendTo(nil))
	if err != nil || !cmp.Equal(v, w) {
		t.Fatalf("%v, read again %v, %v", v, w, err)
	}
}
