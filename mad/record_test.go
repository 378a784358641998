package mad

import (
	"errors"
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path"
	"reflect"
	"strings"
	"testing"
)

// TestLayout: a field of a layout is where the record's type reads it. With all
// bits of the field set and no others, exactly one field of the type is not
// zero, and that has the name.
func TestLayout(t *testing.T) {
	for _, r := range sampleRecords() {
		at := 0
		for _, field := range Layout(r.AttrID()) {
			from := at
			at += field.Bits
			if field.Name == "" {
				continue
			}
			b := make([]byte, maxRecordLen)
			setBits(b, from, at)
			v, err := parseSA(r.AttrID(), b)
			if err != nil {
				t.Fatal(err)
			}
			leaves := nonZero(nil, "", reflect.ValueOf(v))
			if len(leaves) != 1 || !sameField(field.Name, leaves[0]) {
				t.Errorf("%T: bits %d to %d of field %s are %q", r, from, at, field.Name, leaves)
			}
		}
		if at > 8*r.Len() {
			t.Errorf("%T: layout of %d bits in %d bytes", r, at, r.Len())
		}
	}
}

func setBits(b []byte, from, to int) {
	for ; from < to; from++ {
		b[from/8] |= 0x80 >> (from % 8)
	}
}

// sameField tells whether a leaf is the field of that name, as NodeInfo.GUID,
// GUIDs[2] and Mapping are; the first and the last bits of ServiceID are two.
func sameField(name, leaf string) bool {
	name, leaf = strings.TrimRight(name, "568"), strings.Replace(leaf, "s[", "[", 1)
	return strings.HasSuffix(name, leaf) || strings.HasPrefix(leaf, name)
}

// nonZero lists the names of the fields that are not zero; an array of bytes is
// one field.
func nonZero(list []string, name string, v reflect.Value) []string {
	switch {
	case v.IsZero():
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			list = nonZero(list, v.Type().Field(i).Name, v.Field(i))
		}
	case v.Kind() == reflect.Array && v.Len() != 64 && (v.Len() != 16 || strings.HasPrefix(name, "Data")):
		for i := range v.Len() {
			list = nonZero(list, fmt.Sprintf("%s[%d]", name, i), v.Index(i))
		}
	default:
		list = append(list, name)
	}
	return list
}

// TestComponents: each constant of a component mask is named after a field of
// the layout, and is that field's bit; the first of a run stands for all.
func TestComponents(t *testing.T) {
	found := 0
	for name, value := range componentConstants(t) {
		for _, r := range sampleRecords() {
			record := reflect.TypeOf(r).Name()
			field, ok := strings.CutPrefix(name, record)
			if !ok {
				continue
			}
			if i := fieldIndex(r.AttrID(), field); i >= 0 {
				found++
				if value != 1<<i {
					t.Errorf("%s is %v, the field is bit %d", name, value, i)
				}
			} else if value != MCMemberRecordMemberCount && value != PathRecordServiceID {
				t.Errorf("%s is no field of the layout", name)
			}
		}
	}
	if found < 150 {
		t.Errorf("only %d constants found", found)
	}
}

func fieldIndex(a AttrID, name string) int {
	for i, field := range Layout(a) {
		if field.Name == name || field.Name == name+"[0]" {
			return i
		}
	}
	return -1
}

// componentConstants are the constants of type ComponentMask by name.
func componentConstants(t *testing.T) map[string]ComponentMask {
	t.Helper()
	fset := token.NewFileSet()
	var files []*ast.File
	names, err := fs.Glob(os.DirFS("."), "*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, path.Clean(name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	config := types.Config{
		Importer: noImports{},
		Error:    func(error) {}, // of what needs an import; no constant does
	}
	pkg, _ := config.Check("heddle/mad", fset, files, nil)
	constants := map[string]ComponentMask{}
	for _, name := range pkg.Scope().Names() {
		c, ok := pkg.Scope().Lookup(name).(*types.Const)
		if !ok || c.Type().String() != "heddle/mad.ComponentMask" {
			continue
		}
		value, _ := constant.Uint64Val(c.Val())
		constants[name] = ComponentMask(value)
	}
	return constants
}

type noImports struct{}

func (noImports) Import(string) (*types.Package, error) { return nil, errors.New("not needed") }
