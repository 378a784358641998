package pattern

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"heddle/fabric"
)

// FileError holds what is wrong with a file of groups or of a placement, each
// fault with its line.
type FileError struct {
	// Faults are the first ones, in the order of their lines.
	Faults []fabric.Fault
	// More is the number of those that followed.
	More int
}

// maxFaults keeps a file of another kind from filling memory with faults.
const maxFaults = 1000

// Error is one line for each of the first faults.
func (e *FileError) Error() string {
	const most = 10
	var lines []string
	for _, f := range e.Faults[:min(len(e.Faults), most)] {
		lines = append(lines, f.String())
	}
	if more := len(e.Faults) - len(lines) + e.More; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more faults", more))
	}
	return strings.Join(lines, "\n")
}

// reader is what the files of groups and placements share.
type reader struct {
	resolver
	at    fabric.Place
	fault FileError
}

func (r *reader) report(err error) {
	if len(r.fault.Faults) == maxFaults {
		r.fault.More++
		return
	}
	r.fault.Faults = append(r.fault.Faults, fabric.Fault{
		Kind: fabric.FaultSyntax, Severity: fabric.Error, At: r.at, Text: err.Error(),
	})
}

// err is the outcome: a failed read, or the faults, or nil.
func (r *reader) err(read error) error {
	switch {
	case read != nil:
		return fmt.Errorf("%s: %w", r.at.File, read)
	case len(r.fault.Faults) > 0:
		return &r.fault
	default:
		return nil
	}
}

// members calls do for the port of each word of a line.
func (r *reader) members(line string, do func(fabric.End)) {
	for {
		w, rest, ok, err := cutWord(line)
		if err != nil {
			r.report(err)
		}
		if !ok {
			return
		}
		line = rest
		e, err := r.end(w)
		if err != nil {
			r.report(err)
			continue
		}
		do(e)
	}
}

// ReadPlacement reads end ports in rank order, one a line, in the words of
// ReadGroups. A port that stands on several lines has as many processes. The
// name of the file is for messages; the error of a bad file is a *FileError.
func ReadPlacement(in io.Reader, name string, f *fabric.Fabric) ([]fabric.End, error) {
	r := &reader{resolver: resolver{f: f}, at: fabric.Place{File: name}}
	var ends []fabric.End
	err := eachLine(in, func(number int, line string) {
		r.at.Line = number
		before := len(ends)
		r.members(line, func(e fabric.End) {
			if r.f.Node(e.Node).Kind == fabric.Switch {
				r.report(fmt.Errorf("%s is a switch: no process runs on it", r.f.Node(e.Node).Label()))
			}
			ends = append(ends, e)
		})
		if len(ends) > before+1 {
			r.report(fmt.Errorf("%d end ports on one line: want one", len(ends)-before))
			ends = ends[:before+1]
		}
	})
	if err := r.err(err); err != nil {
		return nil, err
	}
	return ends, nil
}

// ReadGroups reads groups, one a line:
//
//	[NAME: | name=NAME] MEMBER MEMBER ... [# comment]
//
// Members are separated by blanks or commas. A member is a node's id, its name,
// a port's GUID, a node's GUID, or one of these with :PORT behind it. A node without a port means port 0 of a switch, and the first
// port of an adapter that has a cable to a switch. What holds blanks, commas,
// # or a quote is put in double quotes, in which a backslash stands before
// a quote or a backslash. A member that repeats counts once.
//
// A name that several nodes have is a fault that lists their GUIDs. The name of
// the file is for messages; the error of a bad file is a *FileError with all
// faults.
func ReadGroups(in io.Reader, name string, f *fabric.Fabric) ([]fabric.Group, error) {
	r := &groupReader{
		reader: reader{resolver: resolver{f: f}, at: fabric.Place{File: name}},
		lines:  newPortTable(f),
		starts: []int{0},
	}
	err := eachLine(in, func(number int, line string) {
		r.at.Line = number
		r.group(line)
	})
	if err := r.err(err); err != nil {
		return nil, err
	}
	for i := range r.groups {
		r.groups[i].Members = r.slab[r.starts[i]:r.starts[i+1]:r.starts[i+1]]
	}
	return r.groups, nil
}

// groupReader collects the members of all groups in one array.
type groupReader struct {
	reader
	lines  *portTable // the last line that named a port
	slab   []fabric.End
	starts []int // by group: its first member in slab; one more at the end
	groups []fabric.Group
}

func (r *groupReader) group(line string) {
	name, line := cutLabel(line)
	faults, empty := len(r.fault.Faults)+r.fault.More, true
	r.members(line, func(e fabric.End) {
		empty = false
		if last := r.lines.of(e); *last != int32(r.at.Line) {
			*last = int32(r.at.Line)
			r.slab = append(r.slab, e)
		}
	})
	switch {
	case !empty:
		r.groups = append(r.groups, fabric.Group{Name: strings.Clone(name)})
		r.starts = append(r.starts, len(r.slab))
	case name != "" && faults == len(r.fault.Faults)+r.fault.More:
		r.report(fmt.Errorf("group %q has no member", clip(name)))
	}
}

// cutLabel takes a group's name off its line.
func cutLabel(line string) (name, rest string) {
	line = strings.TrimLeft(line, separators)
	if after, ok := strings.CutPrefix(line, "name="); ok {
		w, rest, ok, err := cutWord(after)
		if ok && err == nil && w.suffix == "" && !strings.ContainsRune(separators, rune(after[0])) {
			return w.text, rest
		}
		return "", line
	}
	w, rest, ok, err := cutWord(line)
	switch {
	case !ok || err != nil:
		return "", line
	case w.quoted && w.suffix == ":":
		return w.text, rest
	case !w.quoted && len(w.text) > 1 && strings.HasSuffix(w.text, ":"):
		return strings.TrimSuffix(w.text, ":"), rest
	default:
		return "", line
	}
}

// WriteGroups writes groups so that ReadGroups gives them back: members by
// their node's id.
func WriteGroups(out io.Writer, groups []fabric.Group, f *fabric.Fabric) error {
	w := bufio.NewWriter(out)
	for _, g := range groups {
		if len(g.Members) == 0 {
			return fmt.Errorf("group %q has no member: it cannot be written", clip(g.Name))
		}
		if g.Name != "" {
			fmt.Fprintf(w, "name=%s ", quote(g.Name))
		}
		for i, e := range g.Members {
			if i > 0 {
				w.WriteByte(' ')
			}
			fmt.Fprintf(w, "%s:%d", quote(f.Node(e.Node).ID), e.Port)
		}
		w.WriteByte('\n')
	}
	return w.Flush()
}
