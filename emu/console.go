package emu

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"text/tabwriter"

	"heddle/internal/console"
)

// command is a command of the console.
type command struct {
	name string // one word or two
	args string // for people
	help string
	run  func(s *Subnet, args []string) (answer string, err error)
}

// usage is how a command is written.
func (c *command) usage() string { return strings.TrimSpace(c.name + " " + c.args) }

// errUsage says that a command has the wrong arguments.
var errUsage = errors.New("wrong arguments")

// commands are all of them.
func commands() []command {
	return []command{
		{"status", "", "what the subnet is like, and the faults in force", consoleStatus},
		{"node", "NODE", "one node and its ports", consoleNode},
		{"link", "LINK", "one link", consoleLink},
		{"link cut", "LINK", "take a cable out", cutLink},
		{"link restore", "LINK", "plug it in again", restoreLink},
		{"link flap", "LINK [TIMES DOWN UP]", "cut and restore a link again and again; without times once, for 1s", flapLink},
		{"link trouble", "LINK [drop=P] [dup=P] [delay=D] [jitter=D] | LINK off", "what goes wrong on one link, in place of what does on all", linkTrouble},
		{"node kill", "NODE", "take a node's power", killNode},
		{"node revive", "NODE", "give it back", reviveNode},
		{"drop", "P|off", "lose packets on all links", dropAll},
		{"duplicate", "P|off", "let packets come twice", duplicateAll},
		{"delay", "D [JITTER]|off", "let packets be late, by D and, by chance, up to JITTER more", delayAll},
		{"slow", "NODE SERVICE [QUEUE] | NODE off", "let a node's agent take a time for each request, and drop SMPs beyond a queue", slowNode},
		{"babble", "NODE PORT INTERVAL|off", "let a port tell of errors, traps 129 to 131", babblePort},
		{"help", "", "this", consoleHelp},
	}
}

const namesHelp = `NODE is an ID, a description or a GUID of a node or port. LINK is one end, NODE[PORT] or NODE PORT,
or both. A name that has blanks is quoted as in a shell. P is a probability from 0 to 1, D a time
such as 1.5ms or 2s.
`

// Console runs a line of text as a command to the subnet and returns the
// answer, which may have several lines. The command help lists the commands.
// The error of a line that cannot be understood says what would be right.
func (l *Live) Console(line string) (answer string, err error) {
	err = l.Do(func(s *Subnet) error {
		answer, err = s.Console(line)
		return err
	})
	return answer, err
}

// ServeConsole serves the console on a listener, which it closes in the end.
func (l *Live) ServeConsole(listener net.Listener) *console.Server {
	return console.Serve(listener, l.Console)
}

// Console is Live.Console, for a Subnet whose time somebody else tells.
func (s *Subnet) Console(line string) (answer string, err error) {
	words, err := console.Split(line)
	if err != nil || len(words) == 0 {
		return "", err
	}
	c, args, err := findCommand(words)
	if err != nil {
		return "", err
	}
	answer, err = c.run(s, args)
	if errors.Is(err, errUsage) {
		err = fmt.Errorf("%w; write: %s", err, c.usage())
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", c.name, err)
	}
	return answer, nil
}

// findCommand finds the command that a line begins with.
func findCommand(words []string) (found *command, args []string, err error) {
	all := commands()
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].name
	}
	i, args, err := console.Find(names, words)
	if err != nil {
		return nil, nil, err
	}
	return &all[i], args, nil
}

func consoleHelp(_ *Subnet, args []string) (string, error) {
	if len(args) > 0 {
		return "", errUsage
	}
	return ConsoleHelp(), nil
}

// ConsoleHelp is what the console answers to help: its commands, one a line,
// and how things are named.
func ConsoleHelp() string {
	return table(func(w *tabwriter.Writer) {
		for _, c := range commands() {
			fmt.Fprintf(w, "%s\t%s\n", c.usage(), c.help)
		}
	}) + namesHelp
}

// table aligns columns that tabs separate.
func table(fill func(w *tabwriter.Writer)) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fill(w)
	w.Flush() //nolint:errcheck // a strings.Builder takes everything
	return b.String()
}

// count says how many there are of something.
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
