package mad

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/ib"
)

// The datagrams of the first two frames of Wireshark's sample capture
// infiniband.pcap: a directed-route Get of SMInfo over one hop, and its answer.
const (
	capturedGet = "" +
		"01810101000001020001509c000125c800200000000000000000000000000000" +
		"ffffffff00000000000000000000000000000000000000000000000000000000" +
		"0000000000000000000000000000000000000000000000000000000000000000" +
		"0000000000000000000000000000000000000000000000000000000000000000" +
		"0002030000000000000000000000000000000000000000000000000000000000" +
		"0000000000000000000000000000000000000000000000000000000000000000" +
		"0000000000000000000000000000000000000000000000000000000000000000" +
		"0000000000000000000000000000000000000000000000000000000000000000"
	capturedResp = "" +
		"01810181800001020001509c000125c800200000000000000000000000000000" +
		"ffffffff00000000000000000000000000000000000000000000000000000000" +
		"0002c9020020b4dd00000000000000000000923a030000000000000000000000" +
		"0000000000000000000000000000000000000000000000000000000000000000" +
		"0002030000000000000000000000000000000000000000000000000000000000" +
		"0000000000000000000000000000000000000000000000000000000000000000" +
		"0006010000000000000000000000000000000000000000000000000000000000" +
		"0000000000000000000000000000000000000000000000000000000000000000"
)

// datagramOf reads a datagram in hexadecimal.
func datagramOf(t *testing.T, text string) *Datagram {
	t.Helper()
	b, err := hex.DecodeString(text)
	if err != nil || len(b) != Size {
		t.Fatalf("%d bytes, %v", len(b), err)
	}
	return (*Datagram)(b)
}

func TestCapturedDatagrams(t *testing.T) {
	get, resp := datagramOf(t, capturedGet), datagramOf(t, capturedResp)
	want := Header{
		Class: ClassDirected, ClassVersion: 1, Method: MethodGet, Specific: 0x0102,
		TID: 0x0001509c000125c8, Attr: AttrSMInfo,
	}
	if diff := cmp.Diff(want, get.Header()); diff != "" {
		t.Error(diff)
	}
	want.Method, want.Status = MethodGetResp, statusDirection
	if diff := cmp.Diff(want, resp.Header()); diff != "" {
		t.Error(diff)
	}
	info := parseAs[SMInfo](t, resp)
	if diff := cmp.Diff(SMInfo{GUID: 0x0002c9020020b4dd, ActCount: 0x923a, SMState: SMMaster, Priority: 0}, info); diff != "" {
		t.Error(diff)
	}
	if again := info.AppendTo(nil); !bytes.Equal(again, resp.Data()[:info.Len()]) {
		t.Errorf("encoded %x", again)
	}
	type route struct {
		Returning, Response bool
		Pointer, Count      uint8
		DrSLID, DrDLID      ib.LID
		Initial, Return     []byte
		Status              Status
	}
	read := func(d *Datagram) route {
		return route{
			d.Returning(), d.IsResponse(), d.HopPointer(), d.HopCount(), d.DrSLID(), d.DrDLID(),
			d.InitialPath()[:4], d.ReturnPath()[:4], d.Status(),
		}
	}
	out := route{false, false, 1, 2, ib.PermissiveLID, ib.PermissiveLID, []byte{0, 2, 3, 0}, []byte{0, 0, 0, 0}, 0}
	back := route{true, true, 1, 2, ib.PermissiveLID, ib.PermissiveLID, []byte{0, 2, 3, 0}, []byte{0, 6, 1, 0}, 0}
	if diff := cmp.Diff([]route{out, back}, []route{read(get), read(resp)}); diff != "" {
		t.Error(diff)
	}
}

func TestSetPathMakesTheCapturedGet(t *testing.T) {
	var d Datagram
	d.SetHeader(Header{Class: ClassDirected, ClassVersion: 1, Method: MethodGet, TID: 0x0001509c000125c8, Attr: AttrSMInfo})
	if err := d.SetPath([]uint8{2, 3}); err != nil {
		t.Fatal(err)
	}
	d.SetHopPointer(1) // as it is on the first link
	if want := datagramOf(t, capturedGet); d != *want {
		t.Errorf("got  %x\nwant %x", d, *want)
	}
}

func TestSetPath(t *testing.T) {
	d := datagramOf(t, capturedResp)
	longest := slices.Repeat([]uint8{7}, MaxHops)
	if err := d.SetPath(longest); err != nil {
		t.Fatal(err)
	}
	if d.Returning() || d.HopPointer() != 0 || d.HopCount() != MaxHops || !bytes.Equal(d.InitialPath()[1:], longest) {
		t.Errorf("pointer %d count %d path %v", d.HopPointer(), d.HopCount(), d.InitialPath())
	}
	before := *d
	if err := d.SetPath(append(longest, 7)); err == nil || *d != before {
		t.Errorf("a path of %d hops: %v, changed %v", MaxHops+1, err, *d != before)
	}
	if err := d.SetPath(nil); err != nil || d.HopCount() != 0 || *d.InitialPath() != [64]byte{} || *d.ReturnPath() != [64]byte{} {
		t.Errorf("%v, count %d, paths %v %v", err, d.HopCount(), d.InitialPath(), d.ReturnPath())
	}
	if d.DrSLID() != ib.PermissiveLID || d.DrDLID() != ib.PermissiveLID {
		t.Errorf("from %v to %v", d.DrSLID(), d.DrDLID())
	}
}

// TestTsharkDirected: tshark reads the header of a directed route as we do.
func TestTsharkDirected(t *testing.T) {
	var d Datagram
	d.SetHeader(Header{
		Class: ClassDirected, ClassVersion: 1, Method: MethodSet, Status: StatusBadField, TID: 0x0102030405060708,
		Attr: AttrSMInfo, Modifier: 0x11121314,
	})
	if err := d.SetPath([]uint8{1, 17, 36}); err != nil {
		t.Fatal(err)
	}
	d.SetHopPointer(2)
	d.SetReturning(true)
	got := dissect(t, []*Datagram{&d})[0]
	for name, want := range map[string]string{
		"smpstatus":  fmt.Sprint(0x8000 | 0x001C), // with the direction bit
		"hoppointer": "2",
		"hopcount":   "3",
		"drslid":     "65535",
		"drdlid":     "65535",
	} {
		if values := got[name]; !slices.Equal(values, []string{want}) {
			t.Errorf("%s is %v, want %s", name, values, want)
		}
	}
	if path := strings.Join(got["initialpath"], ""); !strings.HasPrefix(path, "00:01:11:24:00") {
		t.Errorf("initial path %s", path)
	}
}

func TestHeader(t *testing.T) {
	h := Header{
		Class: ClassSA, ClassVersion: 2, Method: MethodGetTable, Status: 0x0102, Specific: 0x0304,
		TID: 0x1112131415161718, Attr: AttrPathRecord, Modifier: 0x21222324,
	}
	b := h.AppendTo(nil)
	// The layout of IBTA 1, 13.4.3; the captured datagrams speak for most of it.
	if want := "01030212010203041112131415161718" + "0035000021222324"; hex.EncodeToString(b) != want {
		t.Errorf("encoded %x, want %s", b, want)
	}
	got, err := ParseHeader(b)
	if diff := cmp.Diff(h, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	for n := range b {
		if _, err := ParseHeader(b[:n]); !errors.Is(err, ErrShort) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	b[0] = 2
	if _, err := ParseHeader(b); err == nil || errors.Is(err, ErrShort) {
		t.Errorf("base version 2: %v", err)
	}
}

// TestAccessors: each writes what it reads, and nothing else.
func TestAccessors(t *testing.T) {
	fill := func() *Datagram {
		d := new(Datagram)
		for i := range d {
			d[i] = byte(i)
		}
		d[1] = byte(ClassDirected)
		return d
	}
	for _, c := range []struct {
		name     string
		set      func(d *Datagram)
		get      func(d *Datagram) any
		want     any
		from, to int // the bytes that may change
	}{
		{"Method", func(d *Datagram) { d.SetMethod(MethodReport) }, func(d *Datagram) any { return d.Method() }, MethodReport, 3, 4},
		{"Status", func(d *Datagram) { d.SetStatus(0x7abc) }, func(d *Datagram) any { return d.Status() }, Status(0x7abc), 4, 6},
		{"HopPointer", func(d *Datagram) { d.SetHopPointer(99) }, func(d *Datagram) any { return d.HopPointer() }, uint8(99), 6, 7},
		{"TID", func(d *Datagram) { d.SetTID(1 << 63) }, func(d *Datagram) any { return d.TID() }, uint64(1 << 63), 8, 16},
		{"MKey", func(d *Datagram) { d.SetMKey(1<<63 + 5) }, func(d *Datagram) any { return d.MKey() }, MKey(1<<63 + 5), 24, 32},
		{"Returning", func(d *Datagram) { d.SetReturning(true) }, func(d *Datagram) any { return d.Returning() }, true, 4, 5},
	} {
		d, before := fill(), fill()
		c.set(d)
		if got := c.get(d); got != c.want {
			t.Errorf("%s is %v, want %v", c.name, got, c.want)
		}
		copy(before[c.from:c.to], d[c.from:c.to])
		if *d != *before {
			t.Errorf("%s changed more than its bytes", c.name)
		}
	}
	d := fill()
	if d.BaseVersion() != 0 || d.ClassVersion() != 2 || d.Attr() != 0x1011 || d.Modifier() != 0x14151617 || d.HopCount() != 7 {
		t.Errorf("header %+v", d.Header())
	}
	if d.DrSLID() != 0x2021 || d.DrDLID() != 0x2223 || d.InitialPath()[0] != 128 || d.ReturnPath()[63] != 255 {
		t.Errorf("route from %v to %v", d.DrSLID(), d.DrDLID())
	}
}

// TestDirectionBit: the top bit of a status is the direction of a directed
// route, and part of the status of every other class.
func TestDirectionBit(t *testing.T) {
	var d Datagram
	d.SetHeader(Header{Class: ClassDirected})
	d.SetReturning(true)
	d.SetStatus(StatusBadField)
	if d.Status() != StatusBadField || !d.Returning() {
		t.Errorf("status %v, returning %v", d.Status(), d.Returning())
	}
	d.SetStatus(statusDirection) // is none of its business
	d.SetReturning(false)
	if d.Status() != 0 || d.Returning() {
		t.Errorf("status %v, returning %v", d.Status(), d.Returning())
	}
	d.SetHeader(Header{Class: ClassVendor})
	d.SetStatus(0x8004)
	if d.Status() != 0x8004 {
		t.Errorf("status %v", d.Status())
	}
}

func TestData(t *testing.T) {
	for _, c := range []struct {
		class     Class
		from, len int
	}{{ClassLID, 64, 64}, {ClassDirected, 64, 64}, {ClassSA, 56, 200}, {ClassPerf, 64, 192}, {ClassVendor, 64, 192}} {
		var d Datagram
		d.SetHeader(Header{Class: c.class})
		data := d.Data()
		if len(data) != c.len || cap(data) != c.len {
			t.Errorf("%v has %d bytes of data, room for %d", c.class, len(data), cap(data))
		}
		data[0], data[c.len-1] = 1, 2
		if d[c.from] != 1 || d[c.from+c.len-1] != 2 {
			t.Errorf("%v: data elsewhere", c.class)
		}
	}
}
