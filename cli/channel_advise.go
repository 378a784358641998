package cli

import (
	"fmt"
	"io"
	"strings"

	"heddle/channel"
	"heddle/verbs"
	"heddle/verbs/sim"

	"github.com/spf13/cobra"
)

func (a *app) channelAdviseCommand() *cobra.Command {
	var req channel.Requirements
	var f deviceFlags
	var network string
	var all, asJSON bool
	cmd := &cobra.Command{
		Use: "advise", Short: "Find the channel that fits what a program needs and what its network can do",
		Long: `Find the kinds of channels that do what you need on a sort of network (--network) or a
device that is there (--provider, --device): the best first, with what speaks for it. It
is the one with the shortest way, and of these the one with the fewest requests. Of the
others it is told why not (--all for each reason).

--network is ` + strings.Join(networks(), ", ") + `.`,
		Example: `  heddle channel advise --blocking --variable --network efa
  heddle channel advise --passive-receiver --senders 64 --shared-memory --provider shm`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			caps, err := f.capsOf(network)
			if err != nil {
				return err
			}
			return a.channelAdvise(req, caps, all, asJSON)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&network, "network", "", "sort of network; ib without it and --provider")
	f.flags(cmd, "")
	flags.BoolVar(&req.Blocking, "blocking", false, "the receiver sleeps until a message comes")
	flags.BoolVar(&req.ZeroCopySend, "zero-copy-send", false, "messages go out from where they are")
	flags.BoolVar(&req.ZeroCopyRecv, "zero-copy-recv", false, "messages come to where they are to be")
	flags.BoolVar(&req.Variable, "variable", false, "memory is used as messages are long")
	flags.BoolVar(&req.PassiveSender, "passive-sender", false, "the sender posts nothing for a message")
	flags.BoolVar(&req.PassiveReceiver, "passive-receiver", false, "the receiver posts nothing for a message")
	flags.BoolVar(&req.InOrder, "in-order", false, "messages come in the order in which they were sent")
	flags.IntVar(&req.Senders, "senders", 1, "how many senders one receiver has")
	flags.IntVar(&req.Readers, "readers", 1, "how many receivers get each message")
	flags.BoolVar(&req.SharedMemory, "shared-memory", false, "the receiver's memory does not grow with the senders")
	flags.IntVar(&req.MaxMessage, "max-message", 0, "longest message in bytes")
	flags.BoolVar(&all, "all", false, "tell of each kind that does not fit why not")
	flags.BoolVar(&asJSON, "json", false, "write one JSON object a line")
	return cmd
}

// networks are the sorts of networks.
func networks() (names []string) {
	for _, p := range sim.Profiles() {
		names = append(names, p.Name)
	}
	return names
}

// capsOf is what the network or the device can do.
func (f *deviceFlags) capsOf(network string) (caps verbs.Caps, err error) {
	assume, err := assumptions(f.assume)
	if err != nil {
		return caps, err
	}
	switch {
	case f.provider != "" && network != "":
		return caps, usagef("--network and --provider exclude each other")
	case f.provider == "":
		return networkCaps(network, assume)
	}
	dev, err := f.find()
	if err != nil {
		return caps, err
	}
	ctx, err := dev.Open()
	if err != nil {
		return caps, fmt.Errorf("%s/%s: %w", f.provider, dev.Name(), err)
	}
	return ctx.Caps().Assume(assume...), ctx.Close()
}

func networkCaps(network string, assume []verbs.Assumption) (verbs.Caps, error) {
	if network == "" {
		network = sim.InOrder().Name
	}
	for _, p := range sim.Profiles() {
		if p.Name == network {
			return p.Caps().Assume(assume...), nil
		}
	}
	return verbs.Caps{}, usagef("no network %q; there are %s", network, strings.Join(networks(), ", "))
}

// advice is a choice as it is written.
type advice struct {
	Channel  string   `json:"channel"`
	Title    string   `json:"title"`
	Fits     bool     `json:"fits"`
	Reasons  []string `json:"reasons"`
	Excluded []string `json:"excluded,omitempty"`
}

func (a *app) channelAdvise(req channel.Requirements, caps verbs.Caps, all, asJSON bool) error {
	list := channel.Advise(req, caps)
	err := buffered(a.out, func(w io.Writer) error {
		place := 0
		for i := range list {
			c := &list[i]
			if asJSON {
				if err := writeJSON(w, advice{c.Kind.Name, c.Kind.Title, c.Fits(), c.Reasons, c.Excluded}); err != nil {
					return err
				}
				continue
			}
			if c.Fits() {
				place++
			}
			if _, err := io.WriteString(w, textOf(c, place, all)); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && !list[0].Fits() {
		return fmt.Errorf("no channel does all of that on this network; the nearest is %s: %s",
			list[0].Kind.Name, strings.Join(list[0].Excluded, "; "))
	}
	return err
}

// textOf is a choice for people; place is that of one that fits.
func textOf(c *channel.Choice, place int, all bool) string {
	const indent = "\n     "
	switch {
	case c.Fits():
		return fmt.Sprintf("%d. %s (%s)%s%s\n", place, c.Kind.Name, c.Kind.Title, indent, strings.Join(c.Reasons, indent))
	case all:
		return fmt.Sprintf("-  %s (%s)%snot: %s\n", c.Kind.Name, c.Kind.Title, indent, strings.Join(c.Excluded, indent+"not: "))
	default:
		return fmt.Sprintf("-  %s: %s\n", c.Kind.Name, c.Excluded[0])
	}
}
