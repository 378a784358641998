package format

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"heddle/fabric"
	"heddle/ib"
)

type jsonReader struct {
	gatherer
	dec   *json.Decoder
	place *lineCounter
	// named is true when the file said what it is.
	named bool
	links []placedLink
	// unread counts the elements of a wrong form.
	unread int
}

// maxUnread bounds the elements of a wrong form, each of which takes long.
const maxUnread = 1 << 16

// placedLink is a link whose nodes are described further on.
type placedLink struct {
	jsonLink
	line int
}

// errStop ends the reading of a file whose fault was reported.
var errStop = errors.New("stop")

func readJSON(r io.Reader, name string) (*fabric.Fabric, []fabric.Fault, error) {
	place := newLineCounter(r)
	j := &jsonReader{gatherer: newGatherer(r, name), dec: json.NewDecoder(place), place: place}
	j.dec.DisallowUnknownFields()
	err := j.top()
	if place.err != nil {
		return nil, nil, place.err
	}
	if err == nil && !j.named {
		j.bad(`no "format": %q says what this is`, jsonName)
	}
	for _, l := range j.links {
		j.num = l.line
		j.link(l.jsonLink)
	}
	f, faults := j.Build()
	return f, faults, nil
}

// top reads the one object of the file. An error was reported.
func (j *jsonReader) top() error {
	if err := j.want(json.Delim('{')); err != nil {
		return err
	}
	for j.dec.More() {
		key, err := j.token()
		if err != nil {
			return err
		}
		if err := j.member(fmt.Sprint(key)); err != nil {
			return err
		}
	}
	if err := j.want(json.Delim('}')); err != nil {
		return err
	}
	end := j.dec.InputOffset()
	if _, err := j.dec.Token(); !errors.Is(err, io.EOF) {
		j.num = j.place.valueAfter(end)
		return j.stop(fabric.FaultSyntax, "there is more behind the end of the object")
	}
	return nil
}

func (j *jsonReader) member(key string) error {
	switch key {
	case "format":
		j.named = true
		return j.want(jsonName)
	case "version":
		return j.want(float64(jsonVersion))
	case "nodes":
		return j.array(func() error { return element(j, j.describe) })
	case "links":
		return j.array(func() error { return element(j, j.linkLater) })
	}
	return j.stop(fabric.FaultSyntax, "%q is not known here", shown([]byte(key)))
}

// want reads a token that can only be this one.
func (j *jsonReader) want(token json.Token) error {
	got, err := j.token()
	if err == nil && got != token {
		return j.stop(fabric.FaultSyntax, "want %v here", token)
	}
	return err
}

func (j *jsonReader) token() (json.Token, error) {
	last := j.dec.InputOffset()
	t, err := j.dec.Token()
	j.num = j.place.valueAfter(last)
	if err != nil {
		return nil, j.broken(err)
	}
	return t, nil
}

func (j *jsonReader) array(each func() error) error {
	if err := j.want(json.Delim('[')); err != nil {
		return err
	}
	for j.dec.More() {
		if err := each(); err != nil {
			return err
		}
		if j.full {
			return errStop
		}
	}
	return j.want(json.Delim(']'))
}

// element decodes one element of an array. One of the wrong form is a fault;
// the rest of the array can be read.
func element[T any](j *jsonReader, use func(T)) error {
	j.num = j.place.valueAfter(j.dec.InputOffset())
	var v T
	err := j.dec.Decode(&v)
	var typed *json.UnmarshalTypeError
	switch {
	case err == nil:
		use(v)
		return nil
	case errors.As(err, &typed):
		j.num = j.place.lineWithin(typed.Offset)
	case isFatal(err) || j.place.err != nil:
		return j.broken(err)
	}
	if j.unread++; j.unread > maxUnread {
		return j.stop(fabric.FaultLimit, "more than %d elements that cannot be read: the rest is not tried", maxUnread)
	}
	j.bad("%v", err)
	return nil
}

func isFatal(err error) bool {
	var syntax *json.SyntaxError
	return errors.As(err, &syntax) || errors.Is(err, io.EOF) ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, errTooLarge)
}

// broken reports what makes the rest unreadable.
func (j *jsonReader) broken(err error) error {
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		j.num = j.place.lastLine()
		return j.stop(fabric.FaultTruncated, "the file ends within its object")
	case errors.Is(err, errTooLarge):
		return j.stop(fabric.FaultLimit, "%v", err)
	}
	if line, ok := j.place.syntaxError(err); ok {
		j.num = line
	}
	return j.stop(fabric.FaultSyntax, "bad JSON: %v", err)
}

// stop reports a fault after which nothing more is read.
func (j *jsonReader) stop(kind fabric.FaultKind, format string, args ...any) error {
	j.Report(fabric.Fault{Kind: kind, Severity: fabric.Error, At: j.at(), Text: fmt.Sprintf(format, args...)})
	return errStop
}

// bad reports something that is not used.
func (j *jsonReader) bad(format string, args ...any) {
	_ = j.stop(fabric.FaultSyntax, format, args...) // the rest is read
}

// describe states a node and its ports.
func (j *jsonReader) describe(v jsonNode) {
	n, err := v.node()
	if err != nil {
		j.bad("%v", err)
		return
	}
	if !n.GUID.IsValid() {
		j.warn(fabric.FaultGUID, "%s states no GUID", n.ID)
	}
	id, ok := j.node(n, j.at())
	if !ok {
		return
	}
	for _, p := range v.PortInfo {
		lid := ib.LID(p.LID)
		if lid != 0 && !lid.IsUnicast() || p.LMC > 7 {
			j.warn(fabric.FaultLID, "%s port %d: LID %d is not in %d..%d, or LMC %d not in 0..7",
				n.Label(), p.Port, p.LID, ib.MinUnicastLID, ib.MaxUnicastLID, p.LMC)
			lid, p.LMC = 0, 0
		}
		j.SetPort(fabric.End{Node: id, Port: p.Port}, fabric.PortInfo{GUID: p.GUID, LID: lid, LMC: p.LMC}, j.at())
	}
}

func (v jsonNode) node() (fabric.Node, error) {
	n := fabric.Node{
		ID: v.ID, GUID: v.GUID, Name: v.Name, NumPorts: v.Ports, SystemGUID: v.SystemGUID,
		VendorID: v.VendorID, DeviceID: v.DeviceID,
		EnhancedPort0: v.EnhancedPort0, Aggregation: v.Aggregation,
	}
	for _, k := range [...]fabric.Kind{fabric.Switch, fabric.Adapter, fabric.Router} {
		if v.Kind == k.String() {
			n.Kind = k
		}
	}
	n.MulticastCap = capUnsaid(n.Kind)
	if v.MulticastCap != nil {
		n.MulticastCap = *v.MulticastCap
	}
	if v.NameHex != "" {
		name, err := hex.DecodeString(v.NameHex)
		if err != nil {
			return n, fmt.Errorf("nameHex of node %q: %w", shown([]byte(v.ID)), err)
		}
		n.Name = string(name)
	}
	switch {
	case v.ID == "":
		return n, errors.New("a node without an id")
	case n.Kind == 0:
		return n, fmt.Errorf("kind of node %q is %q: want switch, adapter or router", shown([]byte(v.ID)), shown([]byte(v.Kind)))
	}
	return n, nil
}

// linkLater states a link, or keeps it where its nodes may follow.
func (j *jsonReader) linkLater(l jsonLink) {
	if !j.cable() {
		return
	}
	_, a := j.Lookup(l.A)
	_, b := j.Lookup(l.B)
	if a && b {
		j.link(l)
		return
	}
	j.links = append(j.links, placedLink{l, j.num})
}

func (j *jsonReader) link(l jsonLink) {
	a, ok := j.Lookup(l.A)
	b, okB := j.Lookup(l.B)
	if !ok || !okB {
		j.warn(fabric.FaultUnknownPeer, "a link of %s and %s, of which one is not described", shown([]byte(l.A)), shown([]byte(l.B)))
		return
	}
	j.Cable(fabric.End{Node: a, Port: l.APort}, fabric.End{Node: b, Port: l.BPort}, l.Rate, j.at())
}
