package mad

import (
	"errors"
	"testing"
)

func TestAttrName(t *testing.T) {
	for _, c := range []struct {
		class Class
		attr  AttrID
		want  string
	}{
		{ClassLID, 0x0010, "NodeDescription"},
		{ClassDirected, 0x0011, "NodeInfo"},
		{ClassSA, 0x0011, "NodeRecord"},
		{ClassPerf, 0x0012, "PortCounters"},
		{ClassLID, 0x0012, "SwitchInfo"},
		{ClassSA, 0x0012, "PortInfoRecord"},
		{ClassLID, 0x0002, "Notice"},
		{ClassSA, 0x0003, "InformInfo"},
		{ClassCC, 0x0001, "ClassPortInfo"},
		{ClassCC, 0x0011, "0x0011"},
		{ClassPerf, 0xFFFF, "0xffff"},
		{ClassSA, 0xFF40, "MCGStateRecord"},
	} {
		if got := c.attr.Name(c.class); got != c.want {
			t.Errorf("%v %v is %s, want %s", c.class, c.attr, got, c.want)
		}
	}
}

// TestAttrNamesAreUnique: within a class.
func TestAttrNamesAreUnique(t *testing.T) {
	for _, class := range []Class{ClassLID, ClassSA, ClassPerf} {
		seen := map[string]AttrID{}
		for v := range 1 << 16 {
			a := AttrID(v)
			name := a.Name(class)
			if other, ok := seen[name]; ok {
				t.Errorf("%v: %v and %v are both %s", class, a, other, name)
			}
			seen[name] = a
		}
	}
}

// TestParseAttribute: every attribute that parses has a name, and refuses data
// that is too short; all others are unknown.
func TestParseAttribute(t *testing.T) {
	known := 0
	for _, class := range []Class{ClassLID, ClassDirected, ClassSA, ClassPerf, ClassCM} {
		for v := range 1 << 16 {
			a := AttrID(v)
			_, err := ParseAttribute(class, a, make([]byte, Size))
			if errors.Is(err, ErrUnknownAttribute) {
				continue
			}
			known++
			if a.Name(class) == a.String() {
				t.Errorf("%v %v has no name", class, a)
			}
			if _, err := ParseAttribute(class, a, nil); !errors.Is(err, ErrShort) {
				t.Errorf("%v %s: no data, but %v", class, a.Name(class), err)
			}
		}
	}
	if known < 2*14+3+1 {
		t.Errorf("only %d attributes", known)
	}
}
