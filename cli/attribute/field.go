package attribute

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"text/tabwriter"

	"heddle/mad"
)

// Field is one field of an attribute: a name and a value, or more fields.
type Field struct {
	// Name is that of the struct's field; the index in an array.
	Name string
	// Value is a bool, a uint64 or a string; nil where there are Fields.
	Value  any
	Fields []Field
	// List is true where the Fields are the entries of an array.
	List bool
}

// Of gives all fields of an attribute, in the order of its struct. Values with
// a meaning are text, such as GUIDs and states, all others numbers. The Field
// that is returned has no name; an attribute of one value has no fields.
func Of(a mad.Attribute) Field { return field("", reflect.ValueOf(a)) }

func field(name string, v reflect.Value) Field {
	if text, ok := reflect.TypeAssert[fmt.Stringer](v); ok {
		return Field{Name: name, Value: scalar(text.String())}
	}
	f := Field{Name: name}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if sub := v.Type().Field(i); sub.IsExported() {
				f.Fields = append(f.Fields, field(sub.Name, v.Field(i)))
			}
		}
	case reflect.Array, reflect.Slice:
		f.List = true
		for i := range v.Len() {
			f.Fields = append(f.Fields, field(strconv.Itoa(i), v.Index(i)))
		}
	case reflect.Bool:
		f.Value = v.Bool()
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		f.Value = number(name, v.Uint())
	default:
		f.Value = fmt.Sprint(v.Interface())
	}
	return f
}

// number is a text in hexadecimal for what nobody counts with.
func number(name string, n uint64) any {
	for _, end := range []string{"ID", "Prefix", "Key"} {
		if strings.HasSuffix(name, end) {
			return fmt.Sprintf("%#x", n)
		}
	}
	return n
}

// scalar is a number for a text that is one in decimal, as that of a LID.
func scalar(text string) any {
	if n, err := strconv.ParseUint(text, 10, 64); err == nil && strconv.FormatUint(n, 10) == text {
		return n
	}
	return text
}

// Write writes a line for each value: its name and the value. The names of
// fields in fields are joined by dots, entries of an array have their index in
// brackets.
func (f Field) Write(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	f.write(table, "")
	return table.Flush()
}

func (f Field) write(w io.Writer, name string) {
	if f.Value != nil {
		fmt.Fprintf(w, "%s\t%v\n", name, f.Value) //nolint:errcheck // the table's Flush tells
		return
	}
	for _, sub := range f.Fields {
		switch {
		case f.List:
			sub.write(w, name+"["+sub.Name+"]")
		case name == "":
			sub.write(w, sub.Name)
		default:
			sub.write(w, name+"."+sub.Name)
		}
	}
}

// MarshalJSON writes an object whose fields are in order, or an array, or the
// value.
func (f Field) MarshalJSON() ([]byte, error) {
	if f.Value != nil {
		return json.Marshal(f.Value)
	}
	parts := make([]string, 0, len(f.Fields))
	for _, sub := range f.Fields {
		b, err := sub.MarshalJSON()
		if err != nil {
			return nil, err
		}
		if f.List {
			parts = append(parts, string(b))
		} else {
			parts = append(parts, strconv.Quote(sub.Name)+":"+string(b))
		}
	}
	if f.List {
		return []byte("[" + strings.Join(parts, ",") + "]"), nil
	}
	return []byte("{" + strings.Join(parts, ",") + "}"), nil
}
