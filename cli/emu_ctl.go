package cli

import (
	"cmp"
	"io"
	"time"

	"heddle/emu"
	"heddle/internal/console"

	"github.com/spf13/cobra"
)

func (a *app) ctlCommand() *cobra.Command {
	var name, socket string
	var wait time.Duration
	cmd := &cobra.Command{
		Use: "ctl COMMAND...", Short: "Command a running heddle emu",
		Long: "Command a running heddle emu: cut links, kill nodes, lose datagrams, ask how it is.\n\n" + emu.ConsoleHelp(),
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return usagef("%s: a COMMAND is needed; see %[1]s --help", cmd.CommandPath())
			case name != "" && socket != "":
				return usagef("--name and --socket cannot both be given")
			}
			return a.ctl(emuConsole(), cmp.Or(socket, emuConsole().Path(emuName(name))), wait, args)
		},
	}
	cmd.Flags().SetInterspersed(false) // what follows the first word is the console's
	cmd.Flags().StringVar(&name, "name", "", nameUsage)
	cmd.Flags().StringVar(&socket, "socket", "", "`PATH` of its control socket, instead of one that is made of the name")
	cmd.Flags().DurationVar(&wait, "wait", 0, "wait so long for an emulator that is starting")
	return cmd
}

// emuConsole is the console of heddle emu.
func emuConsole() console.Program {
	return console.Program{Name: "heddle emu", Short: "emu", Flag: "--ctl"}
}

// ctlPatience is how long a command may take.
const ctlPatience = time.Minute

// ctl has a program that runs answer a command.
func (a *app) ctl(p console.Program, path string, wait time.Duration, words []string) error {
	answer, err := askProgram(p, path, wait, words)
	if err != nil {
		return err
	}
	_, err = io.WriteString(a.out, answer)
	return err
}

// askProgram gives the answer of a program that runs, or starts meanwhile.
func askProgram(p console.Program, path string, wait time.Duration, words []string) (string, error) {
	conn, err := p.Dial(path, wait)
	if err != nil {
		return "", err
	}
	defer conn.Close() //nolint:errcheck // all is answered
	if err := conn.SetDeadline(time.Now().Add(ctlPatience)); err != nil {
		return "", err
	}
	return console.Ask(conn, words...)
}
