package format

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"heddle/fabric"
)

// Format is one way to write down a fabric.
type Format struct {
	// Name is what Read and Write call the format.
	Name string
	// About is one line for a list of formats.
	About string
	// Extensions are the usual ends of a file's name, with their dot.
	Extensions []string
	// Detect tells whether a file that begins with head is of the format; nil
	// for a format that cannot be read.
	Detect func(head []byte) bool
	// Read makes a fabric of a file; name is what the places of faults call
	// the file. The error is that of reading r; all that is wrong with the
	// contents is among the faults. It is nil for a format that cannot be read.
	Read func(r io.Reader, name string) (*fabric.Fabric, []fabric.Fault, error)
	// Write writes the live nodes and links of a fabric.
	Write func(w io.Writer, f *fabric.Fabric) error
}

// The errors that callers tell apart; the texts around them say more.
var (
	// ErrNotTopology is of a file that is no topology at all: empty, binary,
	// compressed, or text without a sign of any format.
	ErrNotTopology = errors.New("not a topology")
	// ErrUnknown is of a format's name that does not exist, or not for reading.
	ErrUnknown = errors.New("unknown format")
)

// headSize is how much of a file is looked at to tell its format.
const headSize = 64 << 10

// Read reads a fabric in the named format, or in the one that its contents,
// and failing that its name, show where formatName is empty.
//
// The fabric is what could be understood; the faults tell what could not, each
// with its line. The error is for r's own errors, for ErrNotTopology and for
// ErrUnknown; there is no fabric then. Memory is bounded by a small multiple of
// the file's size, whatever it holds.
func Read(r io.Reader, name, formatName string) (*fabric.Fabric, []fabric.Fault, error) {
	in := bufio.NewReaderSize(r, headSize)
	head, err := in.Peek(headSize)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
		return nil, nil, fmt.Errorf("read %s: %w", name, err)
	}
	if what := notText(head); what != "" {
		return nil, nil, fmt.Errorf("%s is %w: it is %s", name, ErrNotTopology, what)
	}
	format, err := choose(head, name, formatName)
	if err != nil {
		return nil, nil, err
	}
	f, faults, err := format.Read(in, name)
	if err != nil {
		return nil, nil, fmt.Errorf("read %s as %s: %w", name, format.Name, err)
	}
	return f, faults, nil
}

// ReadFile is Read of a file.
func ReadFile(path, formatName string) (*fabric.Fabric, []fabric.Fault, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("read a topology: %w", err)
	}
	defer file.Close()
	return Read(file, path, formatName)
}

// Write writes the live part of a fabric in the named format.
func Write(w io.Writer, f *fabric.Fabric, formatName string) error {
	format, ok := lookup(formatName)
	if !ok {
		return fmt.Errorf("%w %q: want one of %s", ErrUnknown, formatName, strings.Join(Names(), ", "))
	}
	if err := format.Write(w, f); err != nil {
		return fmt.Errorf("write as %s: %w", formatName, err)
	}
	return nil
}

// Names lists the formats that can be written.
func Names() []string {
	var names []string
	for _, f := range formats {
		names = append(names, f.Name)
	}
	return names
}

// All lists the formats; the list is the caller's.
func All() []Format { return slices.Clone(formats) }

// ForPath is the name of the format that a file's name suggests, "" if none.
func ForPath(path string) string {
	base := filepath.Base(path)
	for _, f := range formats {
		for _, ext := range f.Extensions {
			if strings.HasSuffix(base, ext) {
				return f.Name
			}
		}
	}
	return ""
}

func lookup(name string) (Format, bool) {
	i := slices.IndexFunc(formats, func(f Format) bool { return f.Name == name })
	if i < 0 {
		return Format{}, false
	}
	return formats[i], true
}

// choose finds the format to read with.
func choose(head []byte, name, formatName string) (Format, error) {
	if formatName != "" {
		format, ok := lookup(formatName)
		if !ok || format.Read == nil {
			return Format{}, fmt.Errorf("%w %q for reading: want one of %s",
				ErrUnknown, formatName, strings.Join(readable(), ", "))
		}
		return format, nil
	}
	for _, f := range formats {
		if f.Detect != nil && f.Detect(head) {
			return f, nil
		}
	}
	if f, ok := lookup(ForPath(name)); ok && f.Read != nil {
		return f, nil
	}
	return Format{}, fmt.Errorf("%s is %w: no line looks like one of %s",
		name, ErrNotTopology, strings.Join(readable(), ", "))
}

func readable() []string {
	var names []string
	for _, f := range formats {
		if f.Read != nil {
			names = append(names, f.Name)
		}
	}
	return names
}

// notText says what a file is that cannot be a topology; "" for text.
func notText(head []byte) string {
	switch {
	case len(head) == 0:
		return "empty"
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}), bytes.HasPrefix(head, []byte{0xfd, '7', 'z'}),
		bytes.HasPrefix(head, []byte("BZh")), bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		return "compressed"
	case bytes.HasPrefix(head, []byte{0xff, 0xfe}), bytes.HasPrefix(head, []byte{0xfe, 0xff}):
		return "text in UTF-16, not UTF-8"
	case bytes.IndexByte(head, 0) >= 0:
		return "binary"
	}
	return ""
}
