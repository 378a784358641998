package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"

	"heddle/cli/attribute"
	"heddle/ib"
	"heddle/mad"
	"heddle/umad"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func (a *app) madGetCommand() *cobra.Command {
	cmd := a.parent("get", "Ask for one attribute",
		"Ask for one attribute of a node, a port or subnet administration, and print all\n"+
			"of its fields. Attributes of nodes are asked for along a directed route with\n"+
			"--path, or at --lid, or of the own node; records of the subnet manager of the\n"+
			"port, selected by their fields.\n\n"+portHelp)
	for _, attr := range madAttributes() {
		cmd.AddCommand(a.madGet(attr))
	}
	return cmd
}

// madQuery is one request of mad get.
type madQuery struct {
	madAttribute
	from   portFlags
	asJSON bool
	all    bool // every record that matches
	mKey   mad.MKey
	smKey  uint64
	path   string
	lid    ib.LID // 0 for the own node, or the subnet manager's
	parts  []uint32
	record *attribute.Query // nil where the attribute is no record
}

func (a *app) madGet(attr madAttribute) *cobra.Command {
	q := &madQuery{madAttribute: attr, parts: make([]uint32, len(attr.parts))}
	cmd := &cobra.Command{
		Use: attr.name, Short: attr.attr.Name(attr.class) + ": " + attr.about,
		Aliases: []string{strings.ReplaceAll(attr.name, "-", "")},
		Long:    "Get " + attr.attr.Name(attr.class) + ": " + attr.about + ".\n\n" + portHelp,
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return a.runMadGet(q) },
	}
	q.from.flags(cmd)
	q.flags(cmd)
	return cmd
}

func (q *madQuery) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&q.asJSON, "json", false, "write one JSON object")
	for i, p := range q.madAttribute.parts {
		flags.Uint32Var(&q.parts[i], p.flag, 0, p.about)
	}
	switch q.class {
	case mad.ClassSA:
		q.saFlags(flags)
	case mad.ClassLID:
		flags.StringVar(&q.path, "path", "", "directed route to the node: the port of each hop, 1,3")
		flags.Var(lidValue{&q.lid}, "lid", "LID of the node, instead of --path")
		mKeyFlag(cmd, &q.mKey)
	default:
		flags.Var(lidValue{&q.lid}, "lid", "LID of the node, the own one where it is missing")
	}
}

// saFlags has a flag for each field of a record.
func (q *madQuery) saFlags(flags *pflag.FlagSet) {
	flags.Var(lidValue{&q.lid}, "sm-lid", "LID to ask, instead of that of the subnet manager")
	flags.Uint64Var(&q.smKey, "sm-key", 0, "key to show to subnet administration")
	record, err := attribute.NewQuery(q.attr)
	if err != nil {
		return // no record: nothing selects
	}
	q.record = record
	flags.BoolVar(&q.all, "all", false, "print every record that matches, not one")
	for _, name := range record.Names() {
		flags.Var(fieldValue{record, name}, fieldFlag(name), "select by "+name)
	}
}

// fieldFlag is the flag of a field: --port is the port to ask from.
func fieldFlag(name string) string {
	if name == "Port" {
		return "portnum"
	}
	return strings.ToLower(name)
}

// lidValue is a flag that takes a LID.
type lidValue struct{ lid *ib.LID }

func (v lidValue) Set(s string) (err error) {
	*v.lid, err = ib.ParseLID(s)
	return err
}
func (lidValue) String() string { return "" }
func (lidValue) Type() string   { return "LID" }

// fieldValue is a flag that gives a field of a record.
type fieldValue struct {
	record *attribute.Query
	name   string
}

func (v fieldValue) Set(s string) error { return v.record.Set(v.name, s) }
func (fieldValue) String() string       { return "" }
func (fieldValue) Type() string         { return "value" }

func (a *app) runMadGet(q *madQuery) error {
	if q.path != "" && q.lid != 0 {
		return usagef("--path and --lid are two ways to one node; give one")
	}
	path, err := parsePath(q.path)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	port, err := q.from.open()
	if err != nil {
		return err
	}
	defer port.Close() //nolint:errcheck // all is answered
	request, err := q.request(port, path)
	if err != nil {
		return fmt.Errorf("%s: %w", q.from.spec, err)
	}
	answer, err := port.Call(ctx, request, q.from.call())
	if err != nil {
		return fmt.Errorf("%s: %w", q.from.spec, err)
	}
	if err := answer.StatusError(); err != nil {
		return fmt.Errorf("%s: %w", q.from.spec, err)
	}
	return a.writeAttributes(q, answer)
}

// parsePath reads a directed route: ports with commas between. A leading 0, as
// infiniband-diags write it, is the own node.
func parsePath(s string) ([]uint8, error) {
	var path []uint8
	for i, word := range strings.Split(s, ",") {
		if i == 0 && (word == "" || word == "0") {
			continue
		}
		n, err := strconv.ParseUint(strings.TrimSpace(word), 10, 8)
		if err != nil || n == 0 {
			return nil, usagef("--path %s: %q is no port, which is 1 to 255", s, word)
		}
		path = append(path, uint8(n))
	}
	if len(path) > mad.MaxHops {
		return nil, usagef("--path has %d hops, at most %d", len(path), mad.MaxHops)
	}
	return path, nil
}

// request makes the datagram and its address.
func (q *madQuery) request(port *umad.Port, path []uint8) (*umad.Message, error) {
	m := &umad.Message{Data: make([]byte, mad.Size)}
	d := m.Datagram()
	h := mad.Header{Class: q.class, ClassVersion: 1, Method: mad.MethodGet, Attr: q.attr}
	switch {
	case q.class == mad.ClassSA:
		h.ClassVersion = 2
		if q.all {
			h.Method = mad.MethodGetTable
		}
	case q.class == mad.ClassLID && q.lid == 0:
		h.Class = mad.ClassDirected
	}
	d.SetHeader(h)
	for i, p := range q.madAttribute.parts {
		p.put(d, q.parts[i])
	}
	switch h.Class {
	case mad.ClassDirected:
		m.Address = umad.ByRoute()
		d.SetMKey(q.mKey)
		return m, d.SetPath(path)
	case mad.ClassLID:
		m.Address = umad.ToSMA(q.lid)
		d.SetMKey(q.mKey)
		return m, nil
	default:
		return m, q.address(port, m)
	}
}

// address finds whom a general service is asked of: the subnet manager for
// records, the own port for counters, where no LID is given.
func (q *madQuery) address(port *umad.Port, m *umad.Message) error {
	m.Address = umad.ToLID(q.lid)
	if q.class == mad.ClassSA {
		m.Datagram().SetSMKey(mad.SMKey(q.smKey))
	}
	if q.record != nil {
		q.record.Fill(m.Datagram())
	}
	if q.lid != 0 {
		return nil
	}
	info, err := port.Info()
	if err != nil {
		return err
	}
	m.LID = info.LID
	if q.class == mad.ClassSA {
		m.LID, m.SL = info.SMLID, info.SMSL
	}
	if m.LID == 0 {
		return fmt.Errorf("the port has no LID yet, or no subnet manager: none has brought up the subnet")
	}
	return nil
}

// writeAttributes writes what came; of several records a line of JSON for each,
// or an empty line between two.
func (a *app) writeAttributes(q *madQuery, answer *umad.Message) error {
	attrs, err := readAttributes(answer)
	if err != nil {
		return fmt.Errorf("%s: answer: %w", q.from.spec, err)
	}
	name := q.attr.Name(q.class)
	return buffered(a.out, func(w io.Writer) error {
		for i, attr := range attrs {
			if i > 0 && !q.asJSON {
				fmt.Fprintln(w) //nolint:errcheck // buffered
			}
			if err := writeAttribute(w, name, attr, q.asJSON); err != nil {
				return err
			}
		}
		return nil
	})
}

// readAttributes reads the one attribute of an answer, or the records of a
// table.
func readAttributes(answer *umad.Message) ([]mad.Attribute, error) {
	d := answer.Datagram()
	parse := func(b []byte) (mad.Attribute, error) { return mad.ParseAttribute(d.Class(), d.Attr(), b) }
	if d.Method() != mad.MethodGetTableResp {
		attr, err := parse(d.Data())
		return []mad.Attribute{attr}, err
	}
	var attrs []mad.Attribute
	offset, _ := mad.RMPPOffset(mad.ClassSA)
	for attr, err := range mad.Table(answer.Data[offset:], d.AttributeOffset(), parse) {
		if err != nil {
			return nil, err
		}
		attrs = append(attrs, attr)
	}
	return attrs, nil
}

func writeAttribute(w io.Writer, name string, attr mad.Attribute, asJSON bool) error {
	fields := attribute.Of(attr)
	if asJSON {
		return writeJSON(w, map[string]json.Marshaler{name: fields})
	}
	if fields.Value != nil { // an attribute of one value
		fields = attribute.Field{Fields: []attribute.Field{{Name: name, Value: fields.Value}}}
	}
	return fields.Write(w)
}
