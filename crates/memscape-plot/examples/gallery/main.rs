//! Draws every kind of chart with invented data: `gallery FOLDER`.

mod figures;

use std::error::Error;
use std::path::PathBuf;

use memscape_plot as plot;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args().nth(1).ok_or("name the folder to draw into")?);
    std::fs::create_dir_all(&folder)?;
    for (name, figure) in figures::all() {
        for style in plot::Style::ALL {
            let figure = figure.clone().style(style);
            for format in plot::Format::ALL {
                let file = format!("{name}-{}.{}", style.name(), format.name());
                std::fs::write(folder.join(file), figure.file(format)?)?;
            }
        }
        println!("{name}");
    }
    Ok(())
}
