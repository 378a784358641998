package cli

import (
	"cmp"
	"log/slog"
	"os"
	"time"

	"heddle/emu"
	"heddle/ib"
	"heddle/ibsim"

	"github.com/spf13/cobra"
)

// emuFlags are the flags of heddle emu.
type emuFlags struct {
	input, name, udp, ctl string
	verbose               bool

	cfg   emu.Config
	serve emu.ServeConfig
}

func (a *app) emuCommand() *cobra.Command {
	var f emuFlags
	cmd := &cobra.Command{
		Use: "emu FABRIC", Short: "Emulate a subnet that OpenSM and infiniband-diags attach to",
		Long: "Emulate the subnet of a fabric. Programs that use umad devices, such as OpenSM and\n" +
			"the infiniband-diags, attach to it through ibsim's preload library, and heddle's\n" +
			"own by --port ibsim:NAME/NODE. It runs until it is interrupted; heddle emu ctl\n" +
			"commands it meanwhile.\n\n" + fabricHelp,
		Args: argument("FABRIC"),
		RunE: func(_ *cobra.Command, args []string) error {
			if f.serve.Timeout <= 0 || f.serve.Retries < 0 {
				return usagef("--timeout %v --retries %d: want a time above 0, and no negative number", f.serve.Timeout, f.serve.Retries)
			}
			s, err := a.open(args[0], f.input)
			if err != nil {
				return err
			}
			a.warn(s)
			return a.emulate(s, f.filled(a.emuLog(f.verbose)))
		},
	}
	inputFlag(cmd, &f.input)
	f.sockets(cmd)
	f.subnet(cmd)
	cmd.AddCommand(a.ctlCommand())
	return cmd
}

const nameUsage = "`SOCKETNAME` of the emulator, as its clients' IBSIM_SOCKNAME; from there, or else " + ibsim.DefaultName

func (f *emuFlags) sockets(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.name, "name", "", nameUsage)
	flags.StringVar(&f.udp, "udp", "", "serve at this UDP `ADDRESS` too, as ibsim in remote mode: 127.0.0.1:7070")
	flags.StringVar(&f.ctl, "ctl", "", "`PATH` of the socket for heddle emu ctl, instead of one that is made of the name")
	flags.DurationVar(&f.serve.Timeout, "timeout", 200*time.Millisecond, "how long a client's request waits before it is sent again")
	flags.IntVar(&f.serve.Retries, "retries", 3, "how often it is")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "tell of what is passed over, too")
}

func (f *emuFlags) subnet(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.IntVar(&f.cfg.MLIDs, "mlids", ib.NumMLIDs, "MLIDs that a switch can forward, where the fabric does not say; 0 is no multicast")
	flags.IntVar(&f.cfg.LIDs, "lids", ib.NumUnicastLIDs+1, "LIDs that a switch can forward, from 0 on")
	flags.TextVar(&f.cfg.MTU, "mtu", ib.MTU4096, "largest `MTU` of all ports")
	flags.IntVar(&f.cfg.VLs, "vls", 8, "data VLs of all ports: 1, 2, 4, 8 or 15")
	flags.IntVar(&f.cfg.PKeys, "pkeys", 32, "length of P_Key tables")
	flags.IntVar(&f.cfg.SwitchPKeys, "switch-pkeys", 32, "that of switches' external ports; 0 is no enforcement of partitions")
	flags.BoolVar(&f.cfg.EnhancedPort0, "enhanced-port0", false, "let all switches have an enhanced port 0")
	flags.BoolVar(&f.cfg.KeepLIDs, "keep-lids", false, "start with the LIDs of the FABRIC file")
	flags.DurationVar(&f.cfg.Hop, "hop", 0, "time that a datagram takes from node to node")
	flags.DurationVar(&f.cfg.Agent, "agent", 0, "time that a node's agent takes for a request")
	flags.IntVar(&f.cfg.Queue, "queue", 0, "SMPs that may wait at an agent, beyond which they are dropped; 0 is no limit")
	flags.Uint64Var(&f.cfg.Seed, "seed", 0, "where all chance comes from")
}

// filled turns a zero that means none into what it is called elsewhere.
func (f emuFlags) filled(log *slog.Logger) emuFlags {
	none := func(n *int) { *n = cmp.Or(*n, -1) }
	none(&f.cfg.MLIDs)
	none(&f.cfg.SwitchPKeys)
	none(&f.serve.Retries)
	f.name = emuName(f.name)
	f.ctl = cmp.Or(f.ctl, emuConsole().Path(f.name))
	f.serve.Log = log
	return f
}

// emuName is the name of an emulator where the flag may be empty.
func emuName(flag string) string {
	return cmp.Or(flag, os.Getenv("IBSIM_SOCKNAME"), ibsim.DefaultName)
}

func (a *app) emuLog(verbose bool) *slog.Logger {
	level := slog.LevelInfo
	if verbose {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(a.err, &slog.HandlerOptions{Level: level}))
}
