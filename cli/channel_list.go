package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"heddle/channel"
	"heddle/channel/measure"

	"github.com/spf13/cobra"
)

func (a *app) channelListCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "List the kinds of channels, as they are measured",
		Long: `List the kinds of channels in the form of Table 2 of "Efficient RDMA Communication
Protocols". The half round trips (HRT), the requests of each side for a message, the
requests beside (for credits, heads and tails, of a long stream), whether the receiver
can sleep, passive sides and shared memory are measured at each call on a simulated
network; zero copy, variable length and needs are what each kind is made for.

HRT counts from the sender's call until the message is received. A mark behind a number
tells where the kind is known from: none, the paper; t, its authors' thesis; *, our
reconstruction of a row that the paper's text does not show; +, our own.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.channelList(cmd.Context(), asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write one JSON object a line")
	return cmd
}

// channelRow is a kind as it is listed.
type channelRow struct {
	Number  int      `json:"number"`
	Name    string   `json:"name"`
	Title   string   `json:"title"`
	Family  string   `json:"family"`
	Source  string   `json:"source"`
	HRT     int      `json:"hrt"`
	Send    int      `json:"requestsSend"`
	Recv    int      `json:"requestsRecv"`
	Room    string   `json:"requestsBeside"`
	Batch   float64  `json:"messagesPerRequest,omitempty"`
	Blocks  bool     `json:"blockingReceiver"`
	ZCSend  string   `json:"zeroCopySend"`
	ZCRecv  string   `json:"zeroCopyReceive"`
	Var     bool     `json:"variableSize"`
	Memory  string   `json:"memory"`
	Passive string   `json:"passive"`
	Needs   []string `json:"needs"`
}

func (a *app) channelList(ctx context.Context, asJSON bool) error {
	var rows []channelRow
	for _, k := range channel.Kinds() {
		m, err := measure.Kind(ctx, k)
		if err != nil {
			return err
		}
		rows = append(rows, rowOf(k, &m))
	}
	return buffered(a.out, func(w io.Writer) error {
		if !asJSON {
			return writeChannels(w, rows)
		}
		for _, r := range rows {
			if err := writeJSON(w, r); err != nil {
				return err
			}
		}
		return nil
	})
}

func rowOf(k *channel.Kind, m *measure.Row) channelRow {
	return channelRow{
		Number: k.Number, Name: k.Name, Title: k.Title, Family: string(k.Family), Source: k.Source.String(),
		HRT: m.HRT, Send: m.Send, Recv: m.Recv, Room: fmt.Sprintf("%.2f/%.2f", m.RoomSend, m.RoomRecv), Batch: m.Batch,
		Blocks: m.Blocks, ZCSend: k.CopySend.String(), ZCRecv: k.CopyRecv.String(), Var: k.Variable,
		Memory: string(k.Memory), Passive: sides(m.PassiveSender(), m.PassiveReceiver()), Needs: needsOf(k),
	}
}

func sides(s, r bool) string {
	name := func(is bool, name string) string {
		if is {
			return name
		}
		return "-"
	}
	return name(s, "S") + "/" + name(r, "R")
}

// needsOf are the operations and orders that a kind needs.
func needsOf(k *channel.Kind) (list []string) {
	list = k.Needs.Ops.List()
	if k.Needs.SRQ {
		list = append(list, "SRQ")
	}
	for _, o := range k.Needs.Orders {
		list = append(list, o.Name())
	}
	return list
}

// mark is where a kind is known from.
func mark(source string) string {
	return map[string]string{"thesis": "t", "reconstruction": "*", "own": "+"}[source]
}

func writeChannels(w io.Writer, rows []channelRow) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "#\tfamily\tchannel\tname\tHRT\treq S\treq R\tbeside S/R\tblock\tZC send\tZC recv\tvar\tN:1 memory\tpassive\tneeds")
	for _, r := range rows {
		recv := fmt.Sprint(r.Recv)
		if r.Batch > 1 {
			recv = fmt.Sprintf("%.2f", float64(r.Recv)/r.Batch)
		}
		fmt.Fprintf(t, "%d%s\t%s\t%s\t%s\t%d\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.Number, mark(r.Source), r.Family, r.Title, r.Name,
			r.HRT, r.Send, recv, r.Room, yes(r.Blocks), r.ZCSend, r.ZCRecv, yes(r.Var), r.Memory, r.Passive, strings.Join(r.Needs, ", "))
	}
	return t.Flush()
}

func yes(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}
