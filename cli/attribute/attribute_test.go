package attribute_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"heddle/cli/attribute"
	"heddle/ib"
	"heddle/mad"
)

func TestWrite(t *testing.T) {
	for _, test := range []struct {
		name string
		attr mad.Attribute
		text string // some lines, blanks as one
		json string // a part
	}{
		{
			"numbers, names and GUIDs",
			mad.NodeInfo{NodeType: mad.NodeSwitch, NumPorts: 36, NodeGUID: 0x1234, DeviceID: 0x1003, Revision: 161},
			"NodeType Switch\nNumPorts 36\nNodeGUID 0x0000000000001234\nDeviceID 0x1003\nRevision 161",
			`"NodeType":"Switch","NumPorts":36,"SystemImageGUID":"0x0000000000000000","NodeGUID":"0x0000000000001234"`,
		},
		{
			"fields in fields",
			mad.NodeRecord{LID: 7, Info: mad.NodeInfo{NumPorts: 2}, Description: mad.NewNodeDescription(`a "b"`)},
			"LID 7\nInfo.NumPorts 2\n" + `Description a "b"`,
			`"Description":"a \"b\""`,
		},
		{
			"an array",
			mad.PKeyTable{0xffff, 0x7fff},
			"[0] 0xffff\n[1] 0x7fff\n[2] 0x0000",
			`["0xffff","0x7fff","0x0000",`,
		},
		{
			"an array of structs",
			mad.VLArbitration{{VL: 1, Weight: 4}},
			"[0].VL 1\n[0].Weight 4\n[1].VL 0",
			`[{"VL":1,"Weight":4},{"VL":0`,
		},
		{"one value", mad.NewNodeDescription("a host"), " a host", `"a host"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			var b bytes.Buffer
			if err := attribute.Of(test.attr).Write(&b); err != nil {
				t.Fatal(err)
			}
			var lines []string
			for line := range strings.Lines(b.String()) {
				name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
				lines = append(lines, name+" "+strings.TrimLeft(value, " "))
			}
			for want := range strings.SplitSeq(test.text, "\n") {
				if !strings.Contains("\n"+strings.Join(lines, "\n")+"\n", "\n"+want+"\n") {
					t.Errorf("no line %q in\n%s", want, &b)
				}
			}
			got, err := json.Marshal(attribute.Of(test.attr))
			if err != nil || !strings.Contains(string(got), test.json) {
				t.Errorf("JSON %s, %v, want %s", got, err, test.json)
			}
		})
	}
}

// records are all attributes with a layout.
func records() []mad.AttrID {
	var list []mad.AttrID
	for a := range mad.AttrID(0xFFFF) {
		if mad.Layout(a) != nil {
			list = append(list, a)
		}
	}
	return list
}

// TestEveryRecord sets one field of each record to a number and finds it in the
// component mask, and nothing else in the data; then it reads the record.
func TestEveryRecord(t *testing.T) {
	if len(records()) < 15 {
		t.Fatalf("only %d records", len(records()))
	}
	for _, a := range records() {
		at := 0
		for i, f := range mad.Layout(a) {
			if f.Name != "" && f.Bits <= 64 {
				d := query(t, a, f.Name, "1")
				if d.ComponentMask() != 1<<i {
					t.Errorf("%s %s: mask %#x, want bit %d", a.Name(mad.ClassSA), f.Name, d.ComponentMask(), i)
				}
				last := at + f.Bits - 1
				want := make([]byte, len(d.Data()))
				want[last/8] = 0x80 >> (last % 8)
				if diff := cmp.Diff(want, d.Data()); diff != "" {
					t.Errorf("%s %s (-want +got):\n%s", a.Name(mad.ClassSA), f.Name, diff)
				}
				if attr, err := mad.ParseAttribute(mad.ClassSA, a, d.Data()); err != nil || len(attribute.Of(attr).Fields) == 0 {
					t.Errorf("%s: %v", a.Name(mad.ClassSA), err)
				}
			}
			at += f.Bits
		}
	}
}

func query(t *testing.T, a mad.AttrID, nameValue ...string) *mad.Datagram {
	t.Helper()
	q, err := attribute.NewQuery(a)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(nameValue); i += 2 {
		if err := q.Set(nameValue[i], nameValue[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	var d mad.Datagram
	d.SetHeader(mad.Header{Class: mad.ClassSA})
	q.Fill(&d)
	return &d
}

func TestQueryValues(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		want := mad.PathRecord{
			SGID: ib.NewGID(rapid.Uint64().Draw(rt, "prefix"), ib.GUID(rapid.Uint64().Draw(rt, "guid"))),
			DLID: ib.LID(rapid.Uint16().Draw(rt, "dlid")), FlowLabel: rapid.Uint32Range(0, 1<<20-1).Draw(rt, "flow"),
			PKey: ib.PKey(rapid.Uint16().Draw(rt, "pkey")),
		}
		d := query(t, mad.AttrPathRecord, "sgid", want.SGID.String(), "DLID", want.DLID.String(),
			"flowlabel", jsonNumber(want.FlowLabel), "PKEY", want.PKey.String())
		got, err := mad.ParsePathRecord(d.Data())
		if err != nil {
			rt.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			rt.Fatalf("(-want +got):\n%s", diff)
		}
		if mask := mad.PathRecordSGID | mad.PathRecordDLID | mad.PathRecordFlowLabel | mad.PathRecordPKey; d.ComponentMask() != mask {
			rt.Fatalf("mask %#x, want %#x", d.ComponentMask(), mask)
		}
	})
}

func jsonNumber(n uint32) string {
	b, _ := json.Marshal(n)
	return string(b)
}

func TestQueryText(t *testing.T) {
	d := query(t, mad.AttrNodeRecord, "NodeDescription", "a host", "nodedescription", "host")
	got, err := mad.ParseNodeRecord(d.Data())
	if err != nil || got.Description != mad.NewNodeDescription("host") {
		t.Errorf("%q, %v", got.Description, err)
	}
}

func TestQueryRefuses(t *testing.T) {
	q, err := attribute.NewQuery(mad.AttrNodeRecord)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ name, value, want string }{
		{"lid", "70000", "LID: "},
		{"lid", "x", "no number of 16 bits"},
		{"nodeguid", "-1", "no number of 64 bits"},
		{"nodedescription", strings.Repeat("x", 65), "at most 64"},
		{"color", "red", "there are LID, BaseVersion"},
		{"", "1", "no field"},
	} {
		if err := q.Set(test.name, test.value); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s=%s: %v, want %q", test.name, test.value, err, test.want)
		}
	}
	path, err := attribute.NewQuery(mad.AttrPathRecord)
	if err != nil {
		t.Fatal(err)
	}
	if err := path.Set("sgid", "7"); err == nil {
		t.Error("7 is taken as a GID")
	}
	if _, err := attribute.NewQuery(mad.AttrNotice); err == nil {
		t.Error("Notice is taken as a record")
	}
}
