package mad

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestSamplesComeBack: what is encoded is read again, with all its fields.
func TestSamplesComeBack(t *testing.T) {
	for _, s := range samples() {
		t.Run(s.name(), func(t *testing.T) {
			b := s.bytes()
			if len(b) != s.value.Len() {
				t.Errorf("%d bytes, Len is %d", len(b), s.value.Len())
			}
			got, err := ParseAttribute(s.class, s.attr, b)
			if diff := cmp.Diff(s.value, got); diff != "" || err != nil {
				t.Errorf("%v %s", err, diff)
			}
			prefix := []byte("before")
			if both := s.value.AppendTo(prefix); !bytes.Equal(both, append(prefix, b...)) {
				t.Errorf("appended %x", both)
			}
			used := bytes.Repeat([]byte{0xFF}, Size)
			if reused := s.value.AppendTo(used[:0]); !bytes.Equal(reused, b) || &reused[0] != &used[0] {
				t.Errorf("in a used buffer %x", reused)
			}
		})
	}
}

// TestEveryPrefix: every proper prefix of an attribute fails to parse.
func TestEveryPrefix(t *testing.T) {
	for _, s := range samples() {
		b := s.bytes()
		for n := range b {
			if v, err := ParseAttribute(s.class, s.attr, b[:n]); !errors.Is(err, ErrShort) || v != nil {
				t.Errorf("%s of %d bytes: %v, %v", s.name(), n, v, err)
			}
		}
	}
}

// TestReservedBits: bits that have no field change nothing.
func TestReservedBits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.SampledFrom(samples()).Draw(t, "attribute")
		b := rapid.SliceOfN(rapid.Byte(), s.value.Len(), s.value.Len()+3).Draw(t, "bytes")
		checkReread(t, s.class, s.attr, b)
	})
}

// TestFieldsKeepApart: a field with more bits than it has room for leaves the
// others alone.
func TestFieldsKeepApart(t *testing.T) {
	for _, s := range slices.Concat(samples(), sampleSA()) {
		kind := reflect.TypeOf(s.value)
		if kind.Kind() != reflect.Struct || s.attr == AttrMultiPathRecord { // whose lists have no such length
			continue
		}
		for i := range kind.NumField() {
			wide := reflect.New(kind).Elem()
			setAllBits(wide.Field(i))
			got, err := ParseAttribute(s.class, s.attr, wide.Interface().(Attribute).AppendTo(nil))
			if err != nil {
				t.Fatal(err)
			}
			for j := range kind.NumField() {
				if zero := reflect.ValueOf(got).Field(j).IsZero(); zero == (i == j) {
					t.Errorf("%s.%s: zero %v after %s was set", s.name(), kind.Field(j).Name, zero, kind.Field(i).Name)
				}
			}
		}
	}
}

func setAllBits(f reflect.Value) {
	switch {
	case f.CanUint():
		f.SetUint(1<<f.Type().Bits() - 1)
	case f.Kind() == reflect.Bool:
		f.SetBool(true)
	case f.Kind() == reflect.Struct:
		for _, field := range f.Fields() {
			setAllBits(field)
		}
	default:
		for i := range f.Len() {
			setAllBits(f.Index(i))
		}
	}
}

// checkReread is the invariant of all attributes: an error or a value, never
// both; and a value, encoded, is that value again, reserved bits or not.
func checkReread(t interface {
	Helper()
	Fatalf(format string, args ...any)
}, class Class, attr AttrID, b []byte,
) {
	t.Helper()
	v, err := ParseAttribute(class, attr, b)
	if (err == nil) != (v != nil) {
		t.Fatalf("%v %v: value %v and error %v", class, attr, v, err)
	}
	if err != nil {
		return
	}
	once := v.AppendTo(nil)
	if len(once) != v.Len() {
		t.Fatalf("%v: %d bytes, Len is %d", v, len(once), v.Len())
	}
	again, err := ParseAttribute(class, attr, once)
	if err != nil {
		t.Fatalf("encoded %x, then %v", once, err)
	}
	if diff := cmp.Diff(v, again); diff != "" {
		t.Fatalf("%x is another value as %x: %s", b, once, diff)
	}
	if twice := again.AppendTo(nil); !bytes.Equal(once, twice) {
		t.Fatalf("%x, then %x", once, twice)
	}
}

// FuzzParseAttribute: no bytes do harm.
func FuzzParseAttribute(f *testing.F) {
	for _, s := range samples() {
		f.Add(uint8(s.class), uint16(s.attr), s.bytes())
	}
	f.Fuzz(func(t *testing.T, class uint8, attr uint16, b []byte) {
		checkReread(t, Class(class), AttrID(attr), b)
	})
}
